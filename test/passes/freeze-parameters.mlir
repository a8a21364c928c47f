// RUN: transformer-opt %s --transformer-freeze-parameters=patterns=embeddings.*,layer.[01].* | FileCheck %s
// RUN: transformer-opt %s --transformer-freeze-parameters=patterns=embeddings.*,layer.[01].* --transformer-differentiate | FileCheck %s --check-prefix=GRADIENTS
// RUN: not transformer-opt %s --transformer-freeze-parameters=patterns=head 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not transformer-opt %s --transformer-freeze-parameters=patterns=[ 2>&1 | FileCheck %s --check-prefix=GLOB
// RUN: not transformer-opt %s --transformer-freeze-parameters=patterns=* --transformer-differentiate 2>&1 | FileCheck %s --check-prefix=ALL
// NONE: error: pattern "head" matches no parameter
// GLOB: error: pattern "["
// ALL: error: depends on no parameter that is trained

// CHECK: transformer.parameter frozen @embeddings.words
// CHECK: transformer.parameter frozen @layer.0.w
// CHECK: transformer.parameter frozen @layer.1.w
// CHECK: transformer.parameter @layer.2.w
// CHECK: transformer.parameter @layer.3.w
transformer.parameter @embeddings.words : tensor<9x8xf32>
transformer.parameter @layer.0.w : tensor<8x8xf32>
transformer.parameter @layer.1.w : tensor<8x8xf32>
transformer.parameter @layer.2.w : tensor<8x8xf32>
transformer.parameter @layer.3.w : tensor<8x8xf32>

// Only layers behind the first trained one have a backward: of the first that is trained, without the
// gradient of its input, and of the others, with it.
// GRADIENTS: func.func private @layer.backward
// GRADIENTS-SAME: -> tensor<8x8xf32>
// GRADIENTS: func.func private @layer.backward
// GRADIENTS-SAME: -> (tensor<?x8xf32>, tensor<8x8xf32>)
// GRADIENTS-NOT: .backward
func.func private @layer(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>) -> tensor<?x8xf32> {
  %y = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// GRADIENTS-LABEL: func.func @loss_and_gradients(
// GRADIENTS-SAME: -> (tensor<f32>, tensor<8x8xf32> {transformer.name = "layer.2.w.grad"}, tensor<8x8xf32> {transformer.name = "layer.3.w.grad"})
func.func @loss(%ids: tensor<?xi64>, %labels: tensor<?xi64>) -> tensor<f32> attributes {transformer.entry} {
  %words = transformer.get_parameter @embeddings.words : tensor<9x8xf32>
  %w0 = transformer.get_parameter @layer.0.w : tensor<8x8xf32>
  %w1 = transformer.get_parameter @layer.1.w : tensor<8x8xf32>
  %w2 = transformer.get_parameter @layer.2.w : tensor<8x8xf32>
  %w3 = transformer.get_parameter @layer.3.w : tensor<8x8xf32>
  %x = transformer.embedding %ids, %words : tensor<?xi64>, tensor<9x8xf32> -> tensor<?x8xf32>
  %0 = call @layer(%x, %w0) : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %1 = call @layer(%0, %w1) : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %2 = call @layer(%1, %w2) : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %3 = call @layer(%2, %w3) : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %loss = transformer.cross_entropy %3, %labels : tensor<?x8xf32>, tensor<?xi64> -> tensor<f32>
  return %loss : tensor<f32>
}
