// RUN: transformer-opt %s -verify-diagnostics -split-input-file

func.func @f(%m: memref<?xi64>) {
  // expected-error @below {{expected a mask of ?x?xi64, found 'memref<?xi64>'}}
  %n = transformer_kernel.count_tokens %m : memref<?xi64>
  return
}

// -----

func.func @f(%l: memref<?xi64>, %m: memref<?x?xi64>) {
  // expected-error @below {{expected labels of ?x?xi64, found 'memref<?xi64>'}}
  %n = transformer_kernel.count_labelled_tokens %l, %m {ignore_index = -100 : i64} : memref<?xi64>, memref<?x?xi64>
  return
}

// -----

func.func @f(%m: memref<?x?xi64>, %cu: memref<?xi64>, %l: memref<?xi64>) {
  // expected-error @below {{expected offsets of ?xindex, found 'memref<?xi64>'}}
  transformer_kernel.labelled_tokens ins(%m, %m) outs(%cu, %l) {ignore_index = -100 : i64} : (memref<?x?xi64>, memref<?x?xi64>, memref<?xi64>, memref<?xi64>) -> ()
  return
}

// -----

func.func @f(%m: memref<?x?xi64>, %cu: memref<?xindex>) {
  // expected-error @below {{expected 3 outs, found 2}}
  transformer_kernel.pack_tokens ins(%m, %m) outs(%cu, %cu) : (memref<?x?xi64>, memref<?x?xi64>, memref<?xindex>, memref<?xindex>) -> ()
  return
}

// -----

func.func @f(%m: memref<?x?xi64>, %cu: memref<?xindex>, %ids: memref<?xi32>) {
  // expected-error @below {{expected packed input 0 of ?xi64, found 'memref<?xi32>'}}
  transformer_kernel.pack_tokens ins(%m, %m) outs(%cu, %cu, %ids) : (memref<?x?xi64>, memref<?x?xi64>, memref<?xindex>, memref<?xindex>, memref<?xi32>) -> ()
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %rows: memref<?xindex>, %y: memref<?x?x4xf32>) {
  // expected-error @below {{expected an out of ?x?x8xf32, found 'memref<?x?x4xf32>'}}
  transformer_kernel.unpack_tokens ins(%x, %rows) outs(%y) : (memref<?x8xf32>, memref<?xindex>, memref<?x?x4xf32>) -> ()
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %rows: memref<?xindex>, %y: memref<?x?xf32>) {
  // expected-error @below {{expected a column in [0, 8), found 8}}
  transformer_kernel.unpack_tokens ins(%x, %rows) outs(%y) {column = 8 : i64} : (memref<?x8xf32>, memref<?xindex>, memref<?x?xf32>) -> ()
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %rows: memref<?xindex>, %y: memref<?x?xf32>) {
  // expected-error @below {{expected a column in [0, 8), found -1}}
  transformer_kernel.unpack_tokens ins(%x, %rows) outs(%y) {column = -1 : i64} : (memref<?x8xf32>, memref<?xindex>, memref<?x?xf32>) -> ()
  return
}

// -----

func.func @f(%x: memref<?x?xf32>, %cu: memref<?xindex>) {
  // expected-error @below {{expected x of a static width, found 'memref<?x?xf32>'}}
  transformer_kernel.first_token ins(%x, %cu) outs(%x) : (memref<?x?xf32>, memref<?xindex>, memref<?x?xf32>) -> ()
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %cu: memref<?xi64>) {
  // expected-error @below {{expected offsets of ?xindex, found 'memref<?xi64>'}}
  transformer_kernel.first_token ins(%x, %cu) outs(%x) : (memref<?x8xf32>, memref<?xi64>, memref<?x8xf32>) -> ()
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %cu: tensor<?xindex>, %y: memref<?x8xf32>) {
  // expected-error @below {{expected all operands on memrefs like its outs, found 'tensor<?x8xf32>'}}
  transformer_kernel.first_token ins(%x, %cu) outs(%y) : (tensor<?x8xf32>, tensor<?xindex>, memref<?x8xf32>) -> ()
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %cu: tensor<?xindex>) {
  // expected-error @below {{expected the number of tensor results (0) to be equal to the number of output tensors (1)}}
  transformer_kernel.first_token ins(%x, %cu) outs(%x) : (tensor<?x8xf32>, tensor<?xindex>, tensor<?x8xf32>) -> ()
  return
}

// -----

func.func @f(%ids: memref<?xi64>, %w: memref<30x8xf32>, %x: memref<?x8xf32>) {
  // expected-error @below {{expected 1 tables, one for each ids, found 2}}
  transformer_kernel.embedding ids(%ids) tables(%w, %w) outs(%x) {scales = array<f64: 1.0>} : (memref<?xi64>, memref<30x8xf32>, memref<30x8xf32>, memref<?x8xf32>) -> ()
  return
}

// -----

func.func @f(%ids: memref<?xi64>, %w: memref<30x8xf32>, %x: memref<?x8xf32>) {
  // expected-error @below {{expected 1 scales, one for each table, found 2}}
  transformer_kernel.embedding ids(%ids) tables(%w) outs(%x) {scales = array<f64: 1.0, 1.0>} : (memref<?xi64>, memref<30x8xf32>, memref<?x8xf32>) -> ()
  return
}

// -----

func.func @f(%ids: memref<?xi64>, %w: memref<30x4xf32>, %x: memref<?x8xf32>) {
  // expected-error @below {{expected table 0 of ?x8xf32, found 'memref<30x4xf32>'}}
  transformer_kernel.embedding ids(%ids) tables(%w) outs(%x) {scales = array<f64: 1.0>} : (memref<?xi64>, memref<30x4xf32>, memref<?x8xf32>) -> ()
  return
}

// -----

func.func @f(%ids: memref<?xi64>, %w: memref<30x8xf32>, %b: memref<8xf32>, %x: memref<?x8xf32>) {
  // expected-error @below {{expected norm of gamma and beta, found 1 operands}}
  transformer_kernel.embedding ids(%ids) tables(%w) norm(%b) <eps = 0.0> outs(%x) {scales = array<f64: 1.0>} : (memref<?xi64>, memref<30x8xf32>, memref<8xf32>, memref<?x8xf32>) -> ()
  return
}

// -----

func.func @f(%x: memref<?x8xf32>) {
  // expected-error @below {{expected at least one table, found none}}
  "transformer_kernel.embedding"(%x) <{operandSegmentSizes = array<i32: 0, 0, 0, 1>, scales = array<f64>}> : (memref<?x8xf32>) -> ()
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %g: memref<4xf32>, %b: memref<8xf32>) {
  // expected-error @below {{expected gamma of 8xf32, found 'memref<4xf32>'}}
  transformer_kernel.layer_norm ins(%x, %g, %b) outs(%x) norm<eps = 0.0> : (memref<?x8xf32>, memref<4xf32>, memref<8xf32>, memref<?x8xf32>) -> ()
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %b: memref<8xf32>) {
  // expected-error @below {{expected the third out rounded, found 'memref<?x8xf32>'}}
  transformer_kernel.layer_norm ins(%x, %b, %b) outs(%x, %x, %x) norm<eps = 0.0> : (memref<?x8xf32>, memref<8xf32>, memref<8xf32>, memref<?x8xf32>, memref<?x8xf32>, memref<?x8xf32>) -> ()
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %r: memref<?x8xf64>, %b: memref<8xf32>) {
  // expected-error @below {{expected a residual of ?x8xf32, found 'memref<?x8xf64>'}}
  transformer_kernel.layer_norm ins(%x residual(%r), %b, %b) outs(%x) norm<eps = 0.0> : (memref<?x8xf32>, memref<?x8xf64>, memref<8xf32>, memref<8xf32>, memref<?x8xf32>) -> ()
  return
}

// -----

func.func @f(%q: memref<?x8xf32>, %cu: memref<?xindex>) {
  // expected-error @below {{expected num_heads that divides the width 8, found 3}}
  transformer_kernel.attention ins(%q, %q, %q, %cu, %cu) outs(%q) {num_heads = 3 : i64, num_kv_heads = 3 : i64, scale = 1.0 : f64}
      : (memref<?x8xf32>, memref<?x8xf32>, memref<?x8xf32>, memref<?xindex>, memref<?xindex>, memref<?x8xf32>) -> ()
  return
}

// -----

func.func @f(%q: memref<?x8xf32>, %cu: memref<?xindex>) {
  // expected-error @below {{expected num_kv_heads that divides num_heads = 4, found 0}}
  transformer_kernel.attention ins(%q, %q, %q, %cu, %cu) outs(%q) {num_heads = 4 : i64, num_kv_heads = 0 : i64, scale = 1.0 : f64}
      : (memref<?x8xf32>, memref<?x8xf32>, memref<?x8xf32>, memref<?xindex>, memref<?xindex>, memref<?x8xf32>) -> ()
  return
}

// -----

func.func @f(%q: memref<?x8xf32>, %cu: memref<?xindex>) {
  // expected-error @below {{expected k of ?x4xf32, found 'memref<?x8xf32>'}}
  transformer_kernel.attention ins(%q, %q, %q, %cu, %cu) outs(%q) {num_heads = 4 : i64, num_kv_heads = 2 : i64, scale = 1.0 : f64}
      : (memref<?x8xf32>, memref<?x8xf32>, memref<?x8xf32>, memref<?xindex>, memref<?xindex>, memref<?x8xf32>) -> ()
  return
}

// -----

func.func @f(%y: memref<8xf32>) {
  // expected-error @below {{expected an out of ?x?xf32, found 'memref<8xf32>'}}
  transformer_kernel.sinusoidal_table halves outs(%y) : (memref<8xf32>) -> ()
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @below {{expected at most 4 amounts, found 5}}
  transformer_kernel.work "w" "{}{}{}{}{}"(%n, %n, %n, %n, %n) {flops = array<i64: 1, 1, 1, 1, 1>, bytes = array<i64: 1, 1, 1, 1, 1>, fixed_bytes = 0 : i64}
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @below {{expected 1 flops, found 2}}
  transformer_kernel.work "w" "n={}"(%n) {flops = array<i64: 1, 1>, bytes = array<i64: 1>, fixed_bytes = 0 : i64}
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @below {{expected 1 bytes, found 0}}
  transformer_kernel.work "w" "n={}"(%n) {flops = array<i64: 1>, bytes = array<i64>, fixed_bytes = 0 : i64}
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @below {{expected 1 {} in the shape, found 0}}
  transformer_kernel.work "w" "n"(%n) {flops = array<i64: 1>, bytes = array<i64: 1>, fixed_bytes = 0 : i64}
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %g: memref<8xf32>) {
  // expected-error @below {{expected beta, or rms without it}}
  transformer_kernel.layer_norm ins(%x, %g) outs(%x) norm<eps = 0.0> : (memref<?x8xf32>, memref<8xf32>, memref<?x8xf32>) -> ()
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %c: memref<?xindex>, %b: memref<2x4xf32>) {
  // expected-error @below {{expected a position_bias of [heads] or [heads, P] with an odd P, found 'memref<2x4xf32>'}}
  transformer_kernel.attention ins(%x, %x, %x, %c, %c) position_bias(%b) outs(%x) {num_heads = 2 : i64, num_kv_heads = 2 : i64, scale = 1.0 : f64}
    : (memref<?x8xf32>, memref<?x8xf32>, memref<?x8xf32>, memref<?xindex>, memref<?xindex>, memref<2x4xf32>, memref<?x8xf32>) -> ()
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %c: memref<?xindex>) {
  // expected-error @below {{expected log_sum_exp of ?x2xf32, found 'memref<?x8xf32>'}}
  transformer_kernel.attention ins(%x, %x, %x, %c, %c) outs(%x, %x) {num_heads = 2 : i64, num_kv_heads = 2 : i64, scale = 1.0 : f64}
    : (memref<?x8xf32>, memref<?x8xf32>, memref<?x8xf32>, memref<?xindex>, memref<?xindex>, memref<?x8xf32>, memref<?x8xf32>) -> ()
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %t: memref<?x6xf32>) {
  // expected-error @below {{expected a table of an even width of at most 4, found 6}}
  transformer_kernel.rotary_embedding ins(%x, %t) outs(%x) {num_heads = 2 : i64} : (memref<?x8xf32>, memref<?x6xf32>, memref<?x8xf32>) -> ()
  return
}

// -----

func.func @f(%x: memref<?x3x8x8xf32>, %r: memref<?xindex>, %y: memref<?x12xf32>) {
  // expected-error @below {{expected an out of ?x48xf32, found 'memref<?x12xf32>'}}
  transformer_kernel.patches ins(%x, %r) outs(%y) sizes [4, 4] first 0 : (memref<?x3x8x8xf32>, memref<?xindex>, memref<?x12xf32>) -> ()
  return
}

// -----

func.func @f(%x: memref<?x3x8x8xf32>, %r: memref<?xindex>, %y: memref<?x12xf32>) {
  // expected-error @below {{expected x of items of a static shape with a size for each but its first dimension, found}}
  transformer_kernel.patches ins(%x, %r) outs(%y) sizes [4] first 0 : (memref<?x3x8x8xf32>, memref<?xindex>, memref<?x12xf32>) -> ()
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %c: memref<?xindex>, %y: memref<?x12xf32>) {
  // expected-error @below {{expected an out of whole rows of 8, found 12}}
  transformer_kernel.windows ins(%x, %c, %c) outs(%y) stride 1 padding 0 : (memref<?x8xf32>, memref<?xindex>, memref<?xindex>, memref<?x12xf32>) -> ()
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %t: memref<?x8xf32>, %y: memref<?x12xf32>) {
  // expected-error @below {{expected a table of a static number of rows, found 'memref<?x8xf32>'}}
  transformer_kernel.relative_scores ins(%x, %t) outs(%y) {num_heads = 2 : i64} : (memref<?x8xf32>, memref<?x8xf32>, memref<?x12xf32>) -> ()
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %c: memref<?xindex>, %s: memref<?x9xf32>, %columns: memref<3xi32>) {
  // expected-error @below {{expected query_scores of 2 heads, found a width of 9}}
  transformer_kernel.attention ins(%x, %x, %x, %c, %c) query_scores(%s) columns(%columns) outs(%x) {num_heads = 2 : i64, num_kv_heads = 2 : i64, scale = 1.0 : f64}
    : (memref<?x8xf32>, memref<?x8xf32>, memref<?x8xf32>, memref<?xindex>, memref<?xindex>, memref<?x9xf32>, memref<3xi32>, memref<?x8xf32>) -> ()
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %c: memref<?xindex>, %y: memref<?x12xf32>) {
  // expected-error @below {{expected dy of whole rows of 8, found 12}}
  transformer_kernel.windows_gradient ins(%y, %c, %c) outs(%x) stride 1 padding 0 : (memref<?x12xf32>, memref<?xindex>, memref<?xindex>, memref<?x8xf32>) -> ()
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %t: memref<5x8xf32>, %y: memref<?x12xf32>) {
  // expected-error @below {{expected dy of ?x10xf32, found 'memref<?x12xf32>'}}
  transformer_kernel.relative_scores_gradient ins(%x, %t, %y) outs(%x, %t) {num_heads = 2 : i64} : (memref<?x8xf32>, memref<5x8xf32>, memref<?x12xf32>, memref<?x8xf32>, memref<5x8xf32>) -> ()
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %l: memref<?x2xf32>, %c: memref<?xindex>, %s: memref<?x10xf32>, %columns: memref<3xi32>) {
  // expected-error @below {{expected dquery_scores and dkey_scores of ?x10xf32, found 'memref<?x8xf32>'}}
  transformer_kernel.attention_gradient ins(%x, %x, %x, %x, %l, %x, %c, %c) key_scores(%s) columns(%columns) outs(%x, %x, %x, %x) {num_heads = 2 : i64, num_kv_heads = 2 : i64, scale = 1.0 : f64}
    : (memref<?x8xf32>, memref<?x8xf32>, memref<?x8xf32>, memref<?x8xf32>, memref<?x2xf32>, memref<?x8xf32>, memref<?xindex>, memref<?xindex>, memref<?x10xf32>, memref<3xi32>, memref<?x8xf32>, memref<?x8xf32>, memref<?x8xf32>, memref<?x8xf32>) -> ()
  return
}

// -----

func.func @f(%p: memref<4x8xf32>, %r: memref<4x1xf32>, %s: memref<4xf32>, %x: f32, %y: f64) {
  // expected-error @below {{expected a parameter and its moments of 4x8xf32, found 'memref<4x1xf32>'}}
  transformer_kernel.adafactor_update ins(%p) scale %x moments(%x, %x) shrink %x rate %y eps(%y, %y) clip_threshold %y outs(%p, %r, %r, %s, %s)
    : (memref<4x8xf32>, f32, f32, f32, f32, f64, f64, f64, f64, memref<4x8xf32>, memref<4x1xf32>, memref<4x1xf32>, memref<4xf32>, memref<4xf32>) -> ()
  return
}

// -----

func.func @f(%p: memref<4x8xf32>, %r: memref<4x1xf32>, %c: memref<3x8xf32>, %m: memref<3xf32>, %s: memref<4xf32>, %x: f32, %y: f64) {
  // expected-error @below {{expected moments of the columns of matrices that have 4 rows together, found 'memref<3x8xf32>'}}
  transformer_kernel.adafactor_update ins(%p) scale %x moments(%x, %x) shrink %x rate %y eps(%y, %y) clip_threshold %y outs(%p, %r, %c, %m, %s)
    : (memref<4x8xf32>, f32, f32, f32, f32, f64, f64, f64, f64, memref<4x8xf32>, memref<4x1xf32>, memref<3x8xf32>, memref<3xf32>, memref<4xf32>) -> ()
  return
}

// -----

func.func @f(%x: memref<?x7xf32>, %key: i64, %w: memref<?x3xi32>) {
  // expected-error @below {{expected words for 7 features, found 'memref<?x3xi32>'}}
  transformer_kernel.dropout ins(%x, %key) outs(%w) {rate = 0.1 : f64} : (memref<?x7xf32>, i64, memref<?x3xi32>) -> ()
  return
}

// -----

func.func @f(%x: memref<?x3xi32>, %y: memref<7xf32>) {
  // expected-error @below {{expected words for 7 features, found 'memref<?x3xi32>'}}
  transformer_kernel.sum_rows ins(%x) outs(%y) : (memref<?x3xi32>, memref<7xf32>) -> ()
  return
}
