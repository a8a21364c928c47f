// RUN: transformer-opt %s --transformer-differentiate --transformer-add-optimizer --symbol-dce | FileCheck %s
// RUN: not transformer-opt %s --transformer-add-optimizer 2>&1 | FileCheck %s --check-prefix=ABSENT

// ABSENT: error: has no function @loss_and_gradients of a loss and gradients

transformer.parameter @w : tensor<4x8xf32>

// Only the step is left. Its parameter and the moments are state, tied to results.
// CHECK-NOT: @loss
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: %[[STEP:[^:]*]]: tensor<i64> {transformer.name = "step"},
// CHECK-SAME: %[[RATE:[^:]*]]: tensor<f64> {transformer.name = "learning_rate"},
// CHECK-SAME: tensor<f64> {transformer.name = "beta1"}, {{.*}}: tensor<f64> {transformer.name = "beta2"}
// CHECK-SAME: tensor<f64> {transformer.name = "epsilon"}, {{.*}}: tensor<f64> {transformer.name = "weight_decay"}
// CHECK-SAME: tensor<f64> {transformer.name = "vector_weight_decay"},
// CHECK-SAME: %[[MOST:[^:]*]]: tensor<f64> {transformer.name = "max_grad_norm"},
// CHECK-SAME: %[[W:[^:]*]]: tensor<4x8xf32> {transformer.state = "w"},
// CHECK-SAME: %[[M:[^:]*]]: tensor<4x8xf32> {transformer.state = "w.exp_avg"},
// CHECK-SAME: %[[V:[^:]*]]: tensor<4x8xf32> {transformer.state = "w.exp_avg_sq"})
// CHECK-SAME: -> (tensor<f32> {transformer.name = "loss"}, tensor<f32> {transformer.name = "grad_norm"}, tensor<4x8xf32> {transformer.state = "w"}
// CHECK-SAME: attributes {transformer.entry}
// CHECK-NOT: get_parameter
// CHECK: %[[DW:.*]] = transformer.linear_weight_gradient
// CHECK: %[[S:.*]] = transformer.sum_squares %[[DW]] : tensor<4x8xf32>
// CHECK: %[[NORM:.*]], %[[SCALE:.*]] = transformer.clip_grad_norm %[[S]] to %[[MOST]]
// CHECK: %[[NEW:.*]]:3 = call @adamw.4x8(%[[W]], %[[M]], %[[V]], %[[DW]], %[[SCALE]], %[[STEP]], %[[RATE]]
// CHECK: return %{{.*}}, %[[NORM]], %[[NEW]]#0, %[[NEW]]#1, %[[NEW]]#2
// CHECK: func.func private @adamw.4x8(%{{.*}}: tensor<4x8xf32> {transformer.state = "parameter"}
func.func @loss(%x: tensor<?x8xf32>, %labels: tensor<?xi64>) -> (tensor<f32> {transformer.name = "loss"}) {
  %w = transformer.get_parameter @w : tensor<4x8xf32>
  %y = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
  %loss = transformer.cross_entropy %y, %labels : tensor<?x4xf32>, tensor<?xi64> -> tensor<f32>
  return %loss : tensor<f32>
}
