// RUN: transformer-opt %s --transformer-add-loss --canonicalize | FileCheck %s
// RUN: transformer-opt %s --transformer-add-loss --transformer-differentiate --canonicalize | FileCheck %s --check-prefix=GRADIENTS

transformer.parameter @w : tensor<3x8xf32>
transformer.parameter @e : tensor<9x8xf32>

// A class of each sequence.
// CHECK-LABEL: func.func @loss(
// CHECK-SAME: %[[L:[^:]*]]: tensor<?xi64> {transformer.dims = ["batch"], transformer.ignored = -100 : i64, transformer.name = "labels", transformer.range = array<i64: 0, 3>}) -> (tensor<f32> {transformer.name = "loss"})
// CHECK: %[[ROWS:.*]] = transformer.linear
// CHECK: %[[LOSS:.*]] = transformer.cross_entropy %[[ROWS]], %[[L]] : tensor<?x3xf32>, tensor<?xi64>
// CHECK-NEXT: return %[[LOSS]] : tensor<f32>
// GRADIENTS-LABEL: func.func @loss_and_gradients(
// GRADIENTS: transformer.token_gradient
func.func @forward(%ids: tensor<?x?xi64>, %mask: tensor<?x?xi64>) -> (tensor<?x3xf32> {transformer.name = "logits"})
    attributes {transformer.objective = #transformer.objective<class>} {
  %e = transformer.get_parameter @e : tensor<9x8xf32>
  %w = transformer.get_parameter @w : tensor<3x8xf32>
  %i, %seq = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %x = transformer.embedding %i, %e : tensor<?xi64>, tensor<9x8xf32> -> tensor<?x8xf32>
  %f = transformer.first_token %x, %seq : tensor<?x8xf32> -> tensor<?x8xf32>
  %y = transformer.linear %f, %w out_in : tensor<?x8xf32>, tensor<3x8xf32> -> tensor<?x3xf32>
  return %y : tensor<?x3xf32>
}
