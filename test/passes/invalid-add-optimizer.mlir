// RUN: transformer-opt %s --transformer-add-optimizer=optimizer=adafactor --verify-diagnostics

transformer.parameter @filter : tensor<4x8x3xf32>

// expected-error @below {{adafactor is for parameters of at most 2 dimensions; @filter is 'tensor<4x8x3xf32>'}}
func.func @loss_and_gradients(%x: tensor<f32>, %d: tensor<4x8x3xf32>) -> (tensor<f32> {transformer.name = "loss"}, tensor<4x8x3xf32> {transformer.name = "filter.grad"}) attributes {transformer.entry} {
  %w = transformer.get_parameter @filter : tensor<4x8x3xf32>
  %y = arith.addf %w, %d : tensor<4x8x3xf32>
  return %x, %y : tensor<f32>, tensor<4x8x3xf32>
}
