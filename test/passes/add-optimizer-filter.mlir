// RUN: transformer-opt %s --transformer-add-optimizer=optimizer=adafactor | FileCheck %s

transformer.parameter @filter : tensor<4x8x3xf32>

// Each matrix of a convolution's weight has moments of its rows and columns.
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: tensor<4x8x3xf32> {transformer.state = "filter"}, %{{.*}}: tensor<4x8x1xf32> {transformer.state = "filter.row_var"}, %{{.*}}: tensor<4x1x3xf32> {transformer.state = "filter.col_var"}
// CHECK: transformer.adafactor_update {{.*}} : tensor<4x8x3xf32>
func.func @loss_and_gradients(%x: tensor<f32>, %d: tensor<4x8x3xf32>) -> (tensor<f32> {transformer.name = "loss"}, tensor<4x8x3xf32> {transformer.name = "filter.grad"}) attributes {transformer.entry} {
  %w = transformer.get_parameter @filter : tensor<4x8x3xf32>
  %y = arith.addf %w, %d : tensor<4x8x3xf32>
  return %x, %y : tensor<f32>, tensor<4x8x3xf32>
}
