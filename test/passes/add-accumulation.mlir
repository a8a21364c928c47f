// RUN: transformer-opt %s --transformer-differentiate --transformer-add-accumulation --canonicalize --cse | FileCheck %s
// RUN: transformer-opt %s --transformer-differentiate --transformer-add-accumulation --transformer-add-optimizer=optimizer=sgd --symbol-dce | FileCheck %s --check-prefix=STEP
// RUN: not transformer-opt %s --transformer-add-accumulation 2>&1 | FileCheck %s --check-prefix=ABSENT

// ABSENT: error: has no functions @loss and @loss_and_gradients; run transformer-differentiate first

transformer.parameter @w : tensor<4x8xf32>

// The whole stays as it is.
// CHECK-LABEL: func.func @loss_and_gradients(
// CHECK-NOT: count_labels
// CHECK: return

// A part's mean, and the gradient of it, count by its labels' share of all.
// CHECK-LABEL: func.func @accumulate_gradients(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x8xf32>, %[[L:[^:]*]]: tensor<?xi64>, %[[ALL:[^:]*]]: tensor<f32> {transformer.name = "count0"}
// CHECK-SAME: %[[SUM:[^:]*]]: tensor<4x8xf32> {transformer.state = "w.grad"})
// CHECK-SAME: -> (tensor<f32> {transformer.name = "loss"}, tensor<4x8xf32> {transformer.state = "w.grad"})
// CHECK-SAME: attributes {transformer.entry}
// CHECK: %[[N:.*]] = transformer.count_labels %[[L]] {padding_index = 3 : i64} : tensor<?xi64> -> tensor<f32>
// CHECK: %[[SHARE:.*]] = arith.divf %[[N]], %[[ALL]]
// CHECK: %[[MEAN:.*]] = transformer.cross_entropy %[[Y:.*]], %[[L]]
// CHECK: %[[PART:.*]] = arith.mulf %[[MEAN]], %[[SHARE]]
// CHECK: %[[DY:.*]] = transformer.cross_entropy_gradient %[[Y]], %[[L]], %[[SHARE]]
// CHECK: %[[DW:.*]] = transformer.linear_weight_gradient %[[X]], %[[DY]]
// CHECK: %[[NEW:.*]] = call @accumulate.4x8(%[[SUM]], %[[DW]])
// CHECK: return %[[PART]], %[[NEW]]

// CHECK-LABEL: func.func @apply_gradients(
// CHECK-SAME: %[[SUM:[^:]*]]: tensor<4x8xf32> {transformer.state = "w.grad"}) -> (tensor<4x8xf32> {transformer.state = "w.grad"})
// CHECK: return %[[SUM]]

// Nothing is computed but the counts.
// CHECK-LABEL: func.func @count_labels(
// CHECK-SAME: %{{[^:]*}}: tensor<?x8xf32>, %[[L:[^:]*]]: tensor<?xi64>) -> (tensor<f32> {transformer.name = "count0"})
// CHECK-NEXT: %[[N:.*]] = transformer.count_labels %[[L]] {padding_index = 3 : i64}
// CHECK-NEXT: return %[[N]]

// CHECK-LABEL: func.func private @accumulate.4x8(
// CHECK-SAME: %[[SUM:[^:]*]]: tensor<4x8xf32> {transformer.state = "sum"}, %[[G:[^:]*]]: tensor<4x8xf32>) -> (tensor<4x8xf32> {transformer.state = "sum"})
// CHECK: %[[BOTH:.*]] = arith.addf %[[SUM]], %[[G]]
// CHECK: return %[[BOTH]]

// Steps share the functions of an update; what is trained is state everywhere.
// STEP-LABEL: func.func @train_step(
// STEP: call @sgd.4x8
// STEP-LABEL: func.func @accumulate_gradients(
// STEP-SAME: %[[W:[^:]*]]: tensor<4x8xf32> {transformer.state = "w"}) ->
// STEP-SAME: tensor<4x8xf32> {transformer.state = "w.grad"}, tensor<4x8xf32> {transformer.state = "w"})
// STEP-NOT: get_parameter
// STEP-LABEL: func.func @apply_gradients(
// STEP-SAME: %[[G:[^:]*]]: tensor<4x8xf32> {transformer.state = "w.grad"},
// STEP-SAME: {transformer.name = "learning_rate"}
// STEP-SAME: %[[W:[^:]*]]: tensor<4x8xf32> {transformer.state = "w"}, %[[M:[^:]*]]: tensor<4x8xf32> {transformer.state = "w.momentum_buffer"})
// STEP: %[[S:.*]] = call @squares.4x8(%[[G]])
// STEP: %[[NORM:.*]], %[[SCALE:.*]] = transformer.clip_grad_norm %[[S]]
// STEP: %[[NEW:.*]]:2 = call @sgd.4x8(%[[W]], %[[M]], %[[G]], %[[SCALE]]
// STEP: return %[[G]], %[[NORM]], %[[NEW]]#0, %[[NEW]]#1
// STEP-LABEL: func.func @count_labels(
func.func @loss(%x: tensor<?x8xf32>, %labels: tensor<?xi64>) -> (tensor<f32> {transformer.name = "loss"}) {
  %w = transformer.get_parameter @w : tensor<4x8xf32>
  %y = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
  %loss = transformer.cross_entropy %y, %labels {padding_index = 3 : i64} : tensor<?x4xf32>, tensor<?xi64> -> tensor<f32>
  return %loss : tensor<f32>
}
