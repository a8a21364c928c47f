// RUN: transformer-opt %s --transformer-add-loss --canonicalize | FileCheck %s
// RUN: transformer-opt %s --transformer-add-loss --transformer-differentiate --canonicalize | FileCheck %s --check-prefix=GRADIENTS
// RUN: sed 's/objective<class>/objective<multi_label>/' %s | transformer-opt --transformer-add-loss --transformer-differentiate --canonicalize | FileCheck %s --check-prefix=NUMBERS
// RUN: sed 's/objective<class>/objective<regression>/; s/3x8xf32/1x8xf32/; s/?x3xf32/?x1xf32/' %s | transformer-opt --transformer-add-loss --canonicalize | FileCheck %s --check-prefix=NUMBER
// RUN: sed 's/objective<class>/objective<regression, label_smoothing = 0.1>/' %s | not transformer-opt 2>&1 | FileCheck %s --check-prefix=SMOOTHING
// SMOOTHING: error: labels of regression are no classes, which alone are smoothed

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
// A number for each class, or one alone.
// NUMBERS-LABEL: func.func @loss_and_gradients(
// NUMBERS-SAME: %[[L:[^:]*]]: tensor<?x3xf32> {transformer.dims = ["batch", ""], transformer.name = "labels"})
// NUMBERS: %[[ROWS:.*]] = transformer.linear
// NUMBERS: transformer.element_loss binary_cross_entropy %[[ROWS]], %[[L]] : tensor<?x3xf32>, tensor<?x3xf32>
// NUMBERS: transformer.element_loss_gradient binary_cross_entropy %[[ROWS]], %[[L]], %{{.*}}
// NUMBER-LABEL: func.func @loss(
// NUMBER-SAME: %[[L:[^:]*]]: tensor<?xf32> {transformer.dims = ["batch"], transformer.name = "labels"})
// NUMBER: transformer.element_loss squared %{{.*}}, %[[L]] : tensor<?x1xf32>, tensor<?xf32>
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
