// RUN: transformer-opt %s --transformer-choose-tokens-early --split-input-file | FileCheck %s

// Through norm and linear; both rows of a residual.
// CHECK-LABEL: func.func @residual
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>, %[[A:.*]]: tensor<?x8xf32>, %[[S:.*]]: !transformer.sequences
// CHECK: %[[A1:.*]] = transformer.last_token %[[A]], %[[S]]
// CHECK: %[[L:.*]] = transformer.linear %[[A1]]
// CHECK: %[[X1:.*]] = transformer.last_token %[[X]], %[[S]]
// CHECK: %[[SUM:.*]] = arith.addf %[[L]], %[[X1]]
// CHECK: %[[N:.*]] = transformer.layer_norm %[[SUM]]
// CHECK: %[[Z:.*]] = transformer.clear_empty %[[N]], %[[S]]
// CHECK-NOT: transformer.last_token
// CHECK: return %[[Z]]
func.func @residual(%x: tensor<?x8xf32>, %a: tensor<?x8xf32>, %s: !transformer.sequences, %w: tensor<8x8xf32>, %g: tensor<8xf32>) -> tensor<?x8xf32> {
  %l = transformer.linear %a, %w out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %sum = arith.addf %l, %x : tensor<?x8xf32>
  %n = transformer.layer_norm %sum, %g, %g norm<eps = 1.0e-5> : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  %z = transformer.last_token %n, %s : tensor<?x8xf32> -> tensor<?x8xf32>
  return %z : tensor<?x8xf32>
}

// -----

// Rows that are returned stay whole.
// CHECK-LABEL: func.func @read
// CHECK: %[[L:.*]] = transformer.linear
// CHECK: %[[Z:.*]] = transformer.first_token %[[L]]
// CHECK: return %[[L]], %[[Z]]
func.func @read(%x: tensor<?x8xf32>, %s: !transformer.sequences, %w: tensor<8x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %l = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %z = transformer.first_token %l, %s : tensor<?x8xf32> -> tensor<?x8xf32>
  return %l, %z : tensor<?x8xf32>, tensor<?x8xf32>
}

// -----

// Only the last call's layer; attention reads all rows.
// CHECK-LABEL: func.func private @layer(
// CHECK-NOT: transformer.first_token
// CHECK-LABEL: func.func private @layer.first(
// CHECK: %[[Y:.*]] = transformer.attention
// CHECK: %[[Y1:.*]] = transformer.first_token %[[Y]]
// CHECK: %[[L:.*]] = transformer.linear %[[Y1]]
// CHECK: %[[R:.*]] = transformer.clear_empty %[[L]]
// CHECK: return %[[R]]
// CHECK-LABEL: func.func @layers
// CHECK: %[[A:.*]] = call @layer(
// CHECK: %[[B:.*]] = call @layer.first(%[[A]]
// CHECK: return %[[B]]
func.func private @layer(%x: tensor<?x8xf32>, %s: !transformer.sequences, %w: tensor<8x8xf32>) -> tensor<?x8xf32> {
  %y = transformer.attention %x, %x, %x sequences(%s, %s) {num_heads = 2 : i64, num_kv_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %l = transformer.linear %y, %w out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  return %l : tensor<?x8xf32>
}
func.func @layers(%x: tensor<?x8xf32>, %s: !transformer.sequences, %w: tensor<8x8xf32>) -> tensor<?x8xf32> {
  %a = call @layer(%x, %s, %w) : (tensor<?x8xf32>, !transformer.sequences, tensor<8x8xf32>) -> tensor<?x8xf32>
  %b = call @layer(%a, %s, %w) : (tensor<?x8xf32>, !transformer.sequences, tensor<8x8xf32>) -> tensor<?x8xf32>
  %z = transformer.first_token %b, %s : tensor<?x8xf32> -> tensor<?x8xf32>
  return %z : tensor<?x8xf32>
}

// -----

// A layer that no linear would gain from keeps its name.
// CHECK-LABEL: func.func @attention_last
// CHECK: call @only(
// CHECK: transformer.last_token
func.func private @only(%x: tensor<?x8xf32>, %s: !transformer.sequences) -> tensor<?x8xf32> {
  %y = transformer.attention %x, %x, %x sequences(%s, %s) {num_heads = 2 : i64, num_kv_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
func.func @attention_last(%x: tensor<?x8xf32>, %s: !transformer.sequences) -> tensor<?x8xf32> {
  %b = call @only(%x, %s) : (tensor<?x8xf32>, !transformer.sequences) -> tensor<?x8xf32>
  %z = transformer.last_token %b, %s : tensor<?x8xf32> -> tensor<?x8xf32>
  return %z : tensor<?x8xf32>
}
