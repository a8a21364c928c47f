// RUN: transformer-opt %s -verify-diagnostics -split-input-file

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{expected 4 tensors in weights, found 3}}
  %0 = transformer.multi_head_attention %x sequences(%s) weights(%w, %w, %w) out_in {num_heads = 2 : i64} : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{expected 4 tensors in biases, found 1}}
  %0 = transformer.multi_head_attention %x sequences(%s) weights(%w, %w, %w, %w) biases(%b) out_in {num_heads = 2 : i64} : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{query weight of layout out_in takes rows of width 6, found width 4}}
  %0 = transformer.multi_head_attention %x sequences(%s) weights(%o, %w, %w, %w) out_in {num_heads = 2 : i64} : (tensor<?x4xf32>, !transformer.sequences, tensor<4x6xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{key weight of layout out_in takes rows of width 6, found width 4}}
  %0 = transformer.multi_head_attention %x sequences(%s) weights(%w, %o, %w, %w) out_in {num_heads = 2 : i64} : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4x6xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{value weight of layout out_in takes rows of width 6, found width 4}}
  %0 = transformer.multi_head_attention %x sequences(%s) weights(%w, %w, %o, %w) out_in {num_heads = 2 : i64} : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x6xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{output weight of layout out_in takes rows of width 6, found width 4}}
  %0 = transformer.multi_head_attention %x sequences(%s) weights(%w, %w, %w, %o) out_in {num_heads = 2 : i64} : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x6xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{expected query weight bias of width 4, found 6}}
  %0 = transformer.multi_head_attention %x sequences(%s) weights(%w, %w, %w, %w) biases(%c, %b, %b, %b) out_in {num_heads = 2 : i64} : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{expected key and value projections of width 4 beside queries of width 4, found 6 and 4}}
  %0 = transformer.multi_head_attention %x sequences(%s) weights(%w, %n, %w, %w) out_in {num_heads = 2 : i64} : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<6x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{expected num_heads that divides the width 4, found 3}}
  %0 = transformer.multi_head_attention %x sequences(%s) weights(%w, %w, %w, %w) out_in {num_heads = 3 : i64} : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{expected num_kv_heads that divides num_heads = 2, found 3}}
  %0 = transformer.multi_head_attention %x sequences(%s) memory(%x, %s) weights(%w, %w, %w, %w) out_in {num_heads = 2 : i64, num_kv_heads = 3 : i64} : (tensor<?x4xf32>, !transformer.sequences, tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{memory and memory_sequences stand together}}
  %0 = "transformer.multi_head_attention"(%x, %s, %x, %w, %w, %w, %w) {layout = #transformer<weight_layout out_in>, num_heads = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 4, 0, 0, 0>} : (tensor<?x4xf32>, !transformer.sequences, tensor<?x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{expected a result of width 4, found 3}}
  %0 = transformer.multi_head_attention %x sequences(%s) weights(%w, %w, %w, %w) out_in {num_heads = 2 : i64} : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<?x3xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{expected 2 weights (up, down) or 3 (gate, up, down), found 1}}
  %0 = transformer.feed_forward relu %x weights(%w) out_in : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{expected 2 tensors in biases, found 1}}
  %0 = transformer.feed_forward relu %x weights(%w, %w) biases(%b) out_in : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{up weight of layout out_in takes rows of width 6, found width 4}}
  %0 = transformer.feed_forward relu %x weights(%o, %w) out_in : (tensor<?x4xf32>, tensor<4x6xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{gate weight of layout out_in takes rows of width 6, found width 4}}
  %0 = transformer.feed_forward relu %x weights(%o, %w, %w) out_in : (tensor<?x4xf32>, tensor<4x6xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{expected gate and up weights of one width, found 6 and 4}}
  %0 = transformer.feed_forward relu %x weights(%n, %w, %w) out_in : (tensor<?x4xf32>, tensor<6x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{down weight of layout out_in takes rows of width 4, found width 6}}
  %0 = transformer.feed_forward relu %x weights(%n, %w) out_in : (tensor<?x4xf32>, tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{expected a result of width 4, found 3}}
  %0 = transformer.feed_forward relu %x weights(%w, %w) out_in : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<?x3xf32>
  return
}
