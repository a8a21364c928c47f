// RUN: transformer-opt %s --transformer-differentiate --transformer-scale-loss --transformer-add-optimizer --symbol-dce | FileCheck %s
// RUN: transformer-opt %s --transformer-differentiate --transformer-scale-loss --transformer-add-accumulation --transformer-add-optimizer --symbol-dce | FileCheck %s --check-prefix=PARTS
// RUN: not transformer-opt %s --transformer-scale-loss 2>&1 | FileCheck %s --check-prefix=ABSENT
// RUN: not transformer-opt %s --transformer-differentiate --transformer-scale-loss --transformer-add-optimizer=optimizer=adafactor 2>&1 | FileCheck %s --check-prefix=ADAFACTOR

// ABSENT: error: has no function @loss_and_gradients of a loss and gradients
// ADAFACTOR: error: optimizer "adafactor" skips no step, as a loss_scale asks for

transformer.parameter @w : tensor<4x8xf32>

// Gradients are so many times larger, and so are the sums of their squares: the norm before clipping is not. What the
// update multiplies by is NaN where the norm is infinite or NaN.
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: %[[LOSS_SCALE:[^:]*]]: tensor<f32> {transformer.name = "loss_scale"}
// CHECK-SAME: %[[MOST:[^:]*]]: tensor<f64> {transformer.name = "max_grad_norm"}
// CHECK: %[[SCALED:.*]] = arith.mulf %{{.*}}, %[[LOSS_SCALE]] : tensor<f32>
// CHECK: transformer.cross_entropy_gradient %{{.*}}, %{{.*}}, %[[SCALED]]
// CHECK: %[[S:.*]] = transformer.sum_squares
// CHECK: %[[INVERSE:.*]] = arith.divf %{{.*}}, %[[LOSS_SCALE]]
// CHECK: %[[ONCE:.*]] = arith.mulf %[[S]], %[[INVERSE]]
// CHECK: %[[TWICE:.*]] = arith.mulf %[[ONCE]], %[[INVERSE]]
// CHECK: %[[NORM:.*]], %[[CLIP:.*]] = transformer.clip_grad_norm %[[TWICE]] to %[[MOST]]
// CHECK: %[[SCALE:.*]] = arith.mulf %[[CLIP]], %[[INVERSE]]
// CHECK: %[[NAN:.*]] = arith.mulf %[[NORM]], %{{.*}}
// CHECK: %[[OR_NAN:.*]] = arith.addf %[[SCALE]], %[[NAN]]
// CHECK: call @adamw.4x8({{.*}}, %[[OR_NAN]], %
// CHECK: return %{{.*}}, %[[NORM]], %
// CHECK: func.func private @adamw.4x8(
// CHECK: transformer.adamw_update {{.*}} {skippable} : tensor<4x8xf32>

// PARTS-DAG: func.func @accumulate_gradients({{.*}} {transformer.name = "loss_scale"}
// PARTS-DAG: func.func @apply_gradients({{.*}} {transformer.name = "loss_scale"}
func.func @loss(%x: tensor<?x8xf32>, %labels: tensor<?xi64>) -> (tensor<f32> {transformer.name = "loss"}) {
  %w = transformer.get_parameter @w : tensor<4x8xf32>
  %y = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
  %loss = transformer.cross_entropy %y, %labels : tensor<?x4xf32>, tensor<?xi64> -> tensor<f32>
  return %loss : tensor<f32>
}
