// RUN: transformer-opt %s --transformer-differentiate --transformer-add-optimizer=defer --symbol-dce | FileCheck %s
// RUN: transformer-opt %s --transformer-differentiate --transformer-add-optimizer='defer optimizer=adafactor' --symbol-dce | FileCheck %s --check-prefix=AT-ONCE
// RUN: transformer-opt %s --transformer-differentiate --transformer-add-accumulation --transformer-add-optimizer=defer --symbol-dce | FileCheck %s --check-prefix=AT-ONCE
// RUN: transformer-opt %s --transformer-differentiate --transformer-scale-loss --transformer-add-optimizer=defer --symbol-dce | FileCheck %s --check-prefix=AT-ONCE

transformer.parameter @w : tensor<4x8xf32>

// The step reads what the update of the step before has made, and leaves its own gradient.
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: %[[W:[^:]*]]: tensor<4x8xf32> {transformer.state = "w"}, %[[M:[^:]*]]: tensor<4x8xf32> {transformer.state = "w.exp_avg"},
// CHECK-SAME: %[[V:[^:]*]]: tensor<4x8xf32> {transformer.state = "w.exp_avg_sq"}, %[[G:[^:]*]]: tensor<4x8xf32> {transformer.state = "w.grad"},
// CHECK-SAME: %[[SCALE:[^:]*]]: tensor<f32> {transformer.name = "update_scale"})
// CHECK-SAME: tensor<f32> {transformer.name = "grad_norm"}, tensor<f32> {transformer.name = "update_scale"}, tensor<4x8xf32> {transformer.state = "w.grad"}, tensor<4x8xf32> {transformer.state = "w"}
// CHECK: %[[NEW:.*]]:3 = call @adamw.4x8(%[[W]], %[[M]], %[[V]], %[[G]], %[[SCALE]],
// CHECK: transformer.linear %{{.*}}, %[[NEW]]#0
// CHECK: %[[DW:.*]] = transformer.linear_weight_gradient
// CHECK: %[[NORM:.*]], %[[CLIP:.*]] = transformer.clip_grad_norm
// CHECK: return %{{.*}}, %[[NORM]], %[[CLIP]], %[[DW]], %[[NEW]]#0, %[[NEW]]#1, %[[NEW]]#2
// What ends a step.
// CHECK-LABEL: func.func @apply_update(
// CHECK-SAME: %[[G:[^:]*]]: tensor<4x8xf32> {transformer.state = "w.grad"},
// CHECK-SAME: %[[W:[^:]*]]: tensor<4x8xf32> {transformer.state = "w"},
// CHECK-SAME: %[[SCALE:[^:]*]]: tensor<f32> {transformer.name = "update_scale"})
// CHECK-SAME: attributes {transformer.entry}
// CHECK: %[[NEW:.*]]:3 = call @adamw.4x8(%[[W]], %{{.*}}, %{{.*}}, %[[G]], %[[SCALE]],
// CHECK: return %[[G]], %[[NEW]]#0, %[[NEW]]#1, %[[NEW]]#2
// CHECK: transformer.adamw_update {{.*}} {skippable}

// Not where a step cannot be skipped, or is one of parts, or skips for another reason.
// AT-ONCE-NOT: update_scale
// AT-ONCE-NOT: @apply_update
func.func @loss(%x: tensor<?x8xf32>, %labels: tensor<?xi64>) -> (tensor<f32> {transformer.name = "loss"}) {
  %w = transformer.get_parameter @w : tensor<4x8xf32>
  %y = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
  %loss = transformer.cross_entropy %y, %labels : tensor<?x4xf32>, tensor<?xi64> -> tensor<f32>
  return %loss : tensor<f32>
}
