// RUN: transformer-opt %s --transformer-add-loss --canonicalize | FileCheck %s
// RUN: transformer-opt %s --transformer-add-loss --transformer-differentiate --canonicalize | FileCheck %s --check-prefix=GRADIENTS
// RUN: sed 's/end_logits/last_logits/' %s | not transformer-opt --transformer-add-loss 2>&1 | FileCheck %s --check-prefix=ABSENT
// RUN: sed 's/objective<span>/objective<span, label_smoothing = 0.1>/' %s | not transformer-opt 2>&1 | FileCheck %s --check-prefix=SMOOTHING
// ABSENT: error: has no @forward with an output "end_logits", a row of scores for each unmasked token
// SMOOTHING: error: labels of span are no classes, which alone are smoothed

transformer.parameter @w : tensor<2x8xf32>
transformer.parameter @e : tensor<9x8xf32>

// Any position may be given; those outside do not count.
// CHECK-LABEL: func.func @loss(
// CHECK-SAME: %[[S:[^:]*]]: tensor<?xi64> {transformer.dims = ["batch"], transformer.name = "start_positions"},
// CHECK-SAME: %[[E:[^:]*]]: tensor<?xi64> {transformer.dims = ["batch"], transformer.name = "end_positions"}) -> (tensor<f32> {transformer.name = "loss"})
// CHECK: %[[HALF:.*]] = arith.constant dense<5.000000e-01> : tensor<f32>
// CHECK: %{{.*}}, %[[SEQ:.*]] = transformer.pack_tokens
// CHECK: %[[ROWS:.*]] = transformer.linear
// CHECK: %[[START:.*]] = transformer.span_loss %[[ROWS]], %[[SEQ]], %[[S]] column 0
// CHECK: %[[END:.*]] = transformer.span_loss %[[ROWS]], %[[SEQ]], %[[E]] column 1
// CHECK: %[[SUM:.*]] = arith.addf %[[START]], %[[END]] : tensor<f32>
// CHECK: %[[LOSS:.*]] = arith.mulf %[[SUM]], %[[HALF]] : tensor<f32>
// CHECK-NEXT: return %[[LOSS]] : tensor<f32>
// GRADIENTS-LABEL: func.func @loss_and_gradients(
// GRADIENTS: %[[D0:.*]] = transformer.span_loss_gradient %[[ROWS:.*]], %[[SEQ:.*]], %{{.*}}, %{{.*}} column 1
// GRADIENTS: %[[D1:.*]] = transformer.span_loss_gradient %[[ROWS]], %[[SEQ]], %{{.*}}, %{{.*}} column 0
// GRADIENTS: arith.addf %[[D0]], %[[D1]] : tensor<?x2xf32>
func.func @forward(%ids: tensor<?x?xi64>, %mask: tensor<?x?xi64>)
    -> (tensor<?x?xf32> {transformer.name = "start_logits"}, tensor<?x?xf32> {transformer.name = "end_logits"})
    attributes {transformer.objective = #transformer.objective<span>} {
  %e = transformer.get_parameter @e : tensor<9x8xf32>
  %w = transformer.get_parameter @w : tensor<2x8xf32>
  %i, %seq = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %x = transformer.embedding %i, %e : tensor<?xi64>, tensor<9x8xf32> -> tensor<?x8xf32>
  %y = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<2x8xf32> -> tensor<?x2xf32>
  %start = transformer.unpack_tokens %y, %seq {column = 0 : i64} : tensor<?x2xf32> -> tensor<?x?xf32>
  %end = transformer.unpack_tokens %y, %seq {column = 1 : i64} : tensor<?x2xf32> -> tensor<?x?xf32>
  return %start, %end : tensor<?x?xf32>, tensor<?x?xf32>
}
