// RUN: transformer-opt %s | transformer-opt | FileCheck %s
// RUN: transformer-opt %s --mlir-print-op-generic | transformer-opt | FileCheck %s

// CHECK-LABEL: func @tensors
func.func @tensors(%m: tensor<?x?xi64>, %cu: tensor<?xindex>, %rows: tensor<?xindex>, %ids: tensor<?xi64>, %x: tensor<?x8xf32>, %k: tensor<?x4xf32>,
                   %w: tensor<30x8xf32>, %b: tensor<8xf32>, %f: f32, %grid: tensor<?x?x8xf32>, %column: tensor<?x?xf32>,
                   %packed: tensor<1x30x8xf32>) {
  // CHECK: transformer_kernel.count_tokens %{{.*}} : tensor<?x?xi64>
  %n = transformer_kernel.count_tokens %m : tensor<?x?xi64>
  // CHECK: transformer_kernel.count_labelled_tokens %{{.*}}, %{{.*}} {ignore_index = -100 : i64, shifted} : tensor<?x?xi64>, tensor<?x?xi64>
  %labelled = transformer_kernel.count_labelled_tokens %m, %m {ignore_index = -100 : i64, shifted} : tensor<?x?xi64>, tensor<?x?xi64>
  // CHECK: transformer_kernel.labelled_tokens ins(%{{.*}}, %{{.*}}) outs(%{{.*}}, %{{.*}}) {ignore_index = -100 : i64, padding_index = 1 : i64} :
  %labels:2 = transformer_kernel.labelled_tokens ins(%m, %m) outs(%cu, %ids) {ignore_index = -100 : i64, padding_index = 1 : i64} : (tensor<?x?xi64>, tensor<?x?xi64>, tensor<?xindex>, tensor<?xi64>) -> (tensor<?xindex>, tensor<?xi64>)
  // CHECK: transformer_kernel.pack_tokens ins(%{{.*}}) outs(%{{.*}}, %{{.*}}) :
  %0:2 = transformer_kernel.pack_tokens ins(%m) outs(%cu, %rows) : (tensor<?x?xi64>, tensor<?xindex>, tensor<?xindex>) -> (tensor<?xindex>, tensor<?xindex>)
  // CHECK: transformer_kernel.pack_tokens ins(%{{.*}}, %{{.*}}) outs(%{{.*}}, %{{.*}}, %{{.*}}) :
  %1:3 = transformer_kernel.pack_tokens ins(%m, %m) outs(%cu, %rows, %ids) : (tensor<?x?xi64>, tensor<?x?xi64>, tensor<?xindex>, tensor<?xindex>, tensor<?xi64>) -> (tensor<?xindex>, tensor<?xindex>, tensor<?xi64>)
  // CHECK: transformer_kernel.unpack_tokens ins(%{{.*}}, %{{.*}}) outs(%{{.*}}) :
  %2 = transformer_kernel.unpack_tokens ins(%x, %rows) outs(%grid) : (tensor<?x8xf32>, tensor<?xindex>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  // CHECK: transformer_kernel.unpack_tokens {{.*}} {column = 7 : i64}
  %3 = transformer_kernel.unpack_tokens ins(%x, %rows) outs(%column) {column = 7 : i64} : (tensor<?x8xf32>, tensor<?xindex>, tensor<?x?xf32>) -> tensor<?x?xf32>
  // CHECK: transformer_kernel.first_token ins(%{{.*}}, %{{.*}}) outs(%{{.*}}) :
  %4 = transformer_kernel.first_token ins(%x, %cu) outs(%x) : (tensor<?x8xf32>, tensor<?xindex>, tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK: transformer_kernel.embedding ids(%{{.*}}) tables(%{{.*}}) outs(%{{.*}}) {scales = array<f64: 2.000000e+00>}
  %5 = transformer_kernel.embedding ids(%ids) tables(%w) outs(%x) {scales = array<f64: 2.0>} : (tensor<?xi64>, tensor<30x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK: transformer_kernel.embedding ids(%{{.*}}, %{{.*}}) tables(%{{.*}}, %{{.*}}) norm(%{{.*}}, %{{.*}}) <eps = 1.000000e-05, unbiased, eps_outside> outs(%{{.*}}) {scales = {{.*}}}
  %6 = transformer_kernel.embedding ids(%ids, %ids) tables(%w, %w) norm(%b, %b) <eps = 1.0e-5, unbiased, eps_outside> outs(%x) {scales = array<f64: 1.0, 1.0>}
      : (tensor<?xi64>, tensor<?xi64>, tensor<30x8xf32>, tensor<30x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK: transformer_kernel.layer_norm ins(%{{.*}}, %{{.*}}, %{{.*}}) outs(%{{.*}}) norm<eps = 0.000000e+00>
  %7 = transformer_kernel.layer_norm ins(%x, %b, %b) outs(%x) norm<eps = 0.0> : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK: transformer_kernel.attention ins(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) outs(%{{.*}}) options<causal> {num_heads = 2 : i64, num_kv_heads = 1 : i64, scale = 1.000000e+00 : f64}
  %8 = transformer_kernel.attention ins(%x, %k, %k, %cu, %cu) outs(%x) options<causal> {num_heads = 2 : i64, num_kv_heads = 1 : i64, scale = 1.0 : f64}
      : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xindex>, tensor<?xindex>, tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK: transformer_kernel.attention ins({{.*}}, scale_factor %{{.*}}) outs(
  %9 = transformer_kernel.attention ins(%x, %k, %k, %cu, %cu, scale_factor %f) outs(%x) {num_heads = 2 : i64, num_kv_heads = 1 : i64, scale = 1.0 : f64}
      : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xindex>, tensor<?xindex>, f32, tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK: transformer_kernel.sinusoidal_table halves outs(%{{.*}}) :
  %10 = transformer_kernel.sinusoidal_table halves outs(%w) : (tensor<30x8xf32>) -> tensor<30x8xf32>
  // CHECK: transformer_cpu.pack_weight in_out ins(%{{.*}}) outs(%{{.*}}) :
  %11 = transformer_cpu.pack_weight in_out ins(%w) outs(%packed) : (tensor<30x8xf32>, tensor<1x30x8xf32>) -> tensor<1x30x8xf32>
  // CHECK: transformer_cpu.sample_squares ins(%{{.*}}) outs(%{{.*}}) {dim = 1 : i64} :
  %squares = transformer_cpu.sample_squares ins(%w) outs(%b) {dim = 1 : i64} : (tensor<30x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  // CHECK: transformer_cpu.sample_squares ins(%{{.*}}) factors(%{{.*}}) outs(%{{.*}}) {dim = 0 : i64} :
  %thirty = tensor.empty() : tensor<30xf32>
  %12 = transformer_cpu.sample_squares ins(%w) factors(%squares) outs(%thirty) {dim = 0 : i64} : (tensor<30x8xf32>, tensor<8xf32>, tensor<30xf32>) -> tensor<30xf32>
  // CHECK: transformer_cpu.estimated %{{.*}} squares(%{{.*}}) : tensor<?x8xf32>, tensor<8xf32>
  %13 = transformer_cpu.estimated %x squares(%squares) : tensor<?x8xf32>, tensor<8xf32>
  // CHECK: transformer_cpu.winograd_scales in_out ins(%{{.*}}, %{{.*}}) outs(%{{.*}}) :
  %scales = transformer_cpu.winograd_scales in_out ins(%w, %w) outs(%thirty) : (tensor<30x8xf32>, tensor<30x8xf32>, tensor<30xf32>) -> tensor<30xf32>
  // CHECK: transformer_cpu.winograd_scales out_in ins(%{{.*}}) squares(%{{.*}}) outs(%{{.*}}) :
  %14 = transformer_cpu.winograd_scales out_in ins(%w) squares(%squares) outs(%b) : (tensor<30x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %pairs = tensor.empty() : tensor<1x6x6x8xf32>
  // CHECK: transformer_cpu.pack_weight in_out ins(%{{.*}}) scales(%{{.*}}) outs(%{{.*}}) :
  %16 = transformer_cpu.pack_weight in_out ins(%w) scales(%scales) outs(%pairs) : (tensor<30x8xf32>, tensor<30xf32>, tensor<1x6x6x8xf32>) -> tensor<1x6x6x8xf32>
  // CHECK: transformer_cpu.winograd_rows ins(%{{.*}}, %{{.*}}) outs(%{{.*}}) :
  %scaled = tensor.empty(%n) : tensor<?x3x6xf32>
  %17:2 = transformer_cpu.winograd_rows ins(%x, %b) outs(%scaled, %x) : (tensor<?x8xf32>, tensor<8xf32>, tensor<?x3x6xf32>, tensor<?x8xf32>) -> (tensor<?x3x6xf32>, tensor<?x8xf32>)
  return
}

transformer.parameter @w : tensor<30x8xf32>
// On buffers there are no results; rows may be strided.
// CHECK-LABEL: func @buffers
func.func @buffers(%x: memref<?x8xf32, strided<[24, 1], offset: 8>>, %b: memref<8xf32>, %y: memref<?x8xf32>) {
  // CHECK: transformer_kernel.get_parameter @w : memref<30x8xf32>
  %w = transformer_kernel.get_parameter @w : memref<30x8xf32>
  // CHECK: transformer_kernel.layer_norm ins(%{{.*}} residual(%{{.*}}), %{{.*}}, %{{.*}}) outs(%{{.*}}, %{{.*}}) {{.*}} -> ()
  transformer_kernel.layer_norm ins(%x residual(%y), %b, %b) outs(%y, %y) norm<eps = 0.0>
      : (memref<?x8xf32, strided<[24, 1], offset: 8>>, memref<?x8xf32>, memref<8xf32>, memref<8xf32>, memref<?x8xf32>, memref<?x8xf32>) -> ()
  return
}

// CHECK-LABEL: func @options
func.func @options(%x: tensor<?x8xf32>, %g: tensor<8xf32>, %cu: tensor<?xindex>, %ck: tensor<?xindex>, %table: tensor<2x5xf32>, %f: f32, %sums: tensor<?x2xf32>, %p: tensor<?xi64>, %frequencies: tensor<2xf64>, %rotary: tensor<?x4xf32>) {
  // CHECK: transformer_kernel.attention ins({{.*}}, scale_factor %{{.*}}) position_bias(%{{.*}}) outs(%{{.*}}, %{{.*}}) options<causal, window = 3> {num_heads
  %0, %1 = transformer_kernel.attention ins(%x, %x, %x, %cu, %ck, scale_factor %f) position_bias(%table) outs(%x, %sums) options<causal, window = 3> {num_heads = 2 : i64, num_kv_heads = 2 : i64, scale = 1.0 : f64}
    : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?xindex>, tensor<?xindex>, f32, tensor<2x5xf32>, tensor<?x8xf32>, tensor<?x2xf32>) -> (tensor<?x8xf32>, tensor<?x2xf32>)
  // CHECK: transformer_kernel.layer_norm ins(%{{.*}} residual(%{{.*}}), %{{.*}}) outs(%{{.*}}) norm<eps = 0.000000e+00> {rms}
  %2 = transformer_kernel.layer_norm ins(%x residual(%x), %g) outs(%x) norm<eps = 0.0> {rms} : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK: transformer_kernel.rotary_table ins(%{{.*}}, %{{.*}}) outs(%{{.*}}) {scale = 1.500000e+00 : f64}
  %3 = transformer_kernel.rotary_table ins(%p, %frequencies) outs(%rotary) {scale = 1.5 : f64} : (tensor<?xi64>, tensor<2xf64>, tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: transformer_kernel.rotary_embedding ins(%{{.*}}, %{{.*}}) outs(%{{.*}}) {num_heads = 2 : i64}
  %4 = transformer_kernel.rotary_embedding ins(%x, %rotary) outs(%x) {num_heads = 2 : i64} : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// CHECK-LABEL: func @windows
func.func @windows(%x: tensor<?x8xf32>, %image: tensor<?x3x6x4xf32>, %cu: tensor<?xindex>, %ids: tensor<?xi64>, %n: index, %patches: tensor<?x12xf32>, %three: tensor<?x24xf32>, %table: tensor<5x8xf32>, %scores: tensor<?x10xf32>, %columns: tensor<3xi32>) {
  // CHECK: transformer_kernel.uniform_sequences length 7 outs(%{{.*}}, %{{.*}}) :
  %0:2 = transformer_kernel.uniform_sequences length 7 outs(%cu, %cu) : (tensor<?xindex>, tensor<?xindex>) -> (tensor<?xindex>, tensor<?xindex>)
  // CHECK: transformer_kernel.token_columns ins(%{{.*}}, %{{.*}}) outs(%{{.*}}) :
  %1 = transformer_kernel.token_columns ins(%cu, %n) outs(%ids) : (tensor<?xindex>, index, tensor<?xi64>) -> tensor<?xi64>
  // CHECK: transformer_kernel.patches ins(%{{.*}}, %{{.*}}) outs(%{{.*}}) sizes [2, 2] first 1 :
  %2 = transformer_kernel.patches ins(%image, %cu) outs(%patches) sizes [2, 2] first 1 : (tensor<?x3x6x4xf32>, tensor<?xindex>, tensor<?x12xf32>) -> tensor<?x12xf32>
  // CHECK: transformer_kernel.windows ins(%{{.*}}, %{{.*}}, %{{.*}}) outs(%{{.*}}) stride 2 padding 1 :
  %3 = transformer_kernel.windows ins(%x, %cu, %cu) outs(%three) stride 2 padding 1 : (tensor<?x8xf32>, tensor<?xindex>, tensor<?xindex>, tensor<?x24xf32>) -> tensor<?x24xf32>
  // CHECK: transformer_kernel.relative_scores ins(%{{.*}}, %{{.*}}) outs(%{{.*}}) {num_heads = 2 : i64} :
  %4 = transformer_kernel.relative_scores ins(%x, %table) outs(%scores) {num_heads = 2 : i64} : (tensor<?x8xf32>, tensor<5x8xf32>, tensor<?x10xf32>) -> tensor<?x10xf32>
  // CHECK: transformer_kernel.attention ins({{.*}}) query_scores(%{{.*}}) key_scores(%{{.*}}) columns(%{{.*}}) outs(
  %5 = transformer_kernel.attention ins(%x, %x, %x, %cu, %cu) query_scores(%4) key_scores(%4) columns(%columns) outs(%x) {num_heads = 2 : i64, num_kv_heads = 2 : i64, scale = 1.0 : f64}
    : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?xindex>, tensor<?xindex>, tensor<?x10xf32>, tensor<?x10xf32>, tensor<3xi32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// CHECK-LABEL: func @gradients
func.func @gradients(%x: tensor<?x8xf32>, %cu: tensor<?xindex>, %three: tensor<?x24xf32>, %table: tensor<5x8xf32>, %bias: tensor<2x5xf32>, %shares: tensor<?x2x5xf32>, %sums: tensor<?x2xf32>, %scores: tensor<?x10xf32>, %columns: tensor<3xi32>) {
  // CHECK: transformer_kernel.windows_gradient ins(%{{.*}}, %{{.*}}, %{{.*}}) outs(%{{.*}}) stride 2 padding 1 :
  %0 = transformer_kernel.windows_gradient ins(%three, %cu, %cu) outs(%x) stride 2 padding 1 : (tensor<?x24xf32>, tensor<?xindex>, tensor<?xindex>, tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK: transformer_kernel.relative_scores_gradient ins(%{{.*}}, %{{.*}}, %{{.*}}) outs(%{{.*}}, %{{.*}}) {num_heads = 2 : i64} :
  %1:2 = transformer_kernel.relative_scores_gradient ins(%x, %table, %scores) outs(%x, %table) {num_heads = 2 : i64} : (tensor<?x8xf32>, tensor<5x8xf32>, tensor<?x10xf32>, tensor<?x8xf32>, tensor<5x8xf32>) -> (tensor<?x8xf32>, tensor<5x8xf32>)
  // CHECK: transformer_kernel.attention_gradient ins({{.*}}) position_bias(%{{.*}}) query_scores(%{{.*}}) key_scores(%{{.*}}) columns(%{{.*}}) outs(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {num_heads
  %2:7 = transformer_kernel.attention_gradient ins(%x, %x, %x, %x, %sums, %x, %cu, %cu) position_bias(%bias) query_scores(%scores) key_scores(%scores) columns(%columns) outs(%x, %x, %x, %bias, %scores, %scores, %shares) {num_heads = 2 : i64, num_kv_heads = 2 : i64, scale = 1.0 : f64}
    : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x2xf32>, tensor<?x8xf32>, tensor<?xindex>, tensor<?xindex>, tensor<2x5xf32>, tensor<?x10xf32>, tensor<?x10xf32>, tensor<3xi32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<2x5xf32>, tensor<?x10xf32>, tensor<?x10xf32>, tensor<?x2x5xf32>)
    -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<2x5xf32>, tensor<?x10xf32>, tensor<?x10xf32>, tensor<?x2x5xf32>)
  return
}
