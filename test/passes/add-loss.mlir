// RUN: transformer-opt %s --transformer-add-loss --canonicalize | FileCheck %s
// RUN: sed 's/attributes {}/attributes {transformer.objective = #transformer.objective<next_token, padding = 3, label_smoothing = 0.25>}/' %s | transformer-opt --transformer-add-loss --canonicalize | FileCheck %s --check-prefix=SHIFT
// RUN: sed 's/attributes {}/attributes {transformer.objective = #transformer.objective<class>}/' %s | not transformer-opt --transformer-add-loss 2>&1 | FileCheck %s --check-prefix=CLASS
// RUN: sed 's/attributes {}/attributes {transformer.objective = #transformer.objective<next_token, label_smoothing = 1.0>}/' %s | not transformer-opt 2>&1 | FileCheck %s --check-prefix=SMOOTHING
// RUN: transformer-opt %s --transformer-add-loss --transformer-differentiate --canonicalize | FileCheck %s --check-prefix=GRADIENTS
// RUN: not transformer-opt %s --transformer-add-loss --transformer-differentiate=loss=forward 2>&1 | FileCheck %s --check-prefix=SCALAR
// RUN: not transformer-opt %s --transformer-differentiate 2>&1 | FileCheck %s --check-prefix=ABSENT
// RUN: echo 'module {}' | not transformer-opt --transformer-add-loss 2>&1 | FileCheck %s --check-prefix=NONE

// SCALAR: error: @forward: expected one result, the loss, of tensor<f32>, found
// ABSENT: error: has no function @loss with a body, the loss
// CLASS: error: has no @forward with an output "logits", a row of scores for each sequence
// SMOOTHING: error: expected a label_smoothing in [0, 1), found 1
// NONE: error: has no @forward with an output "logits", a row of scores for each unmasked token

transformer.parameter @w : tensor<9x8xf32>
transformer.parameter frozen @b : tensor<9xf32>
transformer.parameter @e : tensor<9x8xf32>

// CHECK-LABEL: func.func @loss(
// CHECK-SAME: %[[IDS:[^:]*]]: tensor<?x?xi64>, %[[MASK:[^:]*]]: tensor<?x?xi64> {transformer.dims = ["batch", "here"]},
// CHECK-SAME: %[[L:[^:]*]]: tensor<?x?xi64> {transformer.dims = ["batch", "here"], transformer.ignored = -100 : i64, transformer.name = "labels", transformer.range = array<i64: 0, 9>}) -> (tensor<f32> {transformer.name = "loss"})
// CHECK: %[[ROWS:.*]] = transformer.linear
// CHECK: %[[P:.*]], %{{.*}} = transformer.pack_tokens(%[[L]]) mask(%[[MASK]])
// CHECK: %[[LOSS:.*]] = transformer.cross_entropy %[[ROWS]], %[[P]]
// CHECK-NEXT: return %[[LOSS]] : tensor<f32>
// SHIFT-LABEL: func.func @loss(
// SHIFT: %[[S:.*]] = transformer.shift_labels
// SHIFT: transformer.pack_tokens(%[[S]])
// SHIFT: transformer.cross_entropy {{.*}} {label_smoothing = 2.500000e-01 : f64, padding_index = 3 : i64}

// What is not trained has no gradient.
// GRADIENTS-LABEL: func.func @loss_and_gradients(
// GRADIENTS-SAME: -> (tensor<f32> {transformer.name = "loss"}, tensor<9x8xf32> {transformer.name = "e.grad"}, tensor<9x8xf32> {transformer.name = "w.grad"})
func.func @forward(%ids: tensor<?x?xi64>, %mask: tensor<?x?xi64> {transformer.dims = ["batch", "here"]}) -> (tensor<?x?x9xf32> {transformer.name = "logits"}) attributes {} {
  %e = transformer.get_parameter @e : tensor<9x8xf32>
  %w = transformer.get_parameter @w : tensor<9x8xf32>
  %b = transformer.get_parameter @b : tensor<9xf32>
  %i, %seq = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %x = transformer.embedding %i, %e : tensor<?xi64>, tensor<9x8xf32> -> tensor<?x8xf32>
  %y = transformer.linear %x, %w bias(%b : tensor<9xf32>) out_in : tensor<?x8xf32>, tensor<9x8xf32> -> tensor<?x9xf32>
  %z = transformer.unpack_tokens %y, %seq : tensor<?x9xf32> -> tensor<?x?x9xf32>
  return %z : tensor<?x?x9xf32>
}
