// RUN: transformer-opt %s --transformer-rows-in-place --split-input-file | FileCheck %s

// The backward of a loss writes to the scores that the loss has read, a part of wider rows.
// CHECK-LABEL: @loss(
// CHECK: %[[SCORES:.*]] = tensor.extract_slice
// CHECK: transformer_kernel.cross_entropy ins(%[[SCORES]],
// CHECK: transformer_kernel.cross_entropy_gradient ins(%[[SCORES]], {{.*}}) outs(%[[SCORES]])
func.func @loss(%x: tensor<?x64xf32>, %labels: tensor<?xi64>, %dloss: tensor<f32>, %e: tensor<?x64xf32>) -> (tensor<f32>, tensor<?x50xf32>) {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x64xf32>
  %zero = arith.constant 0.0 : f32
  %wide = linalg.fill ins(%zero : f32) outs(%e : tensor<?x64xf32>) -> tensor<?x64xf32>
  %scores = tensor.extract_slice %wide[0, 0] [%rows, 50] [1, 1] : tensor<?x64xf32> to tensor<?x50xf32>
  %scalar = tensor.empty() : tensor<f32>
  %losses = tensor.empty(%rows) : tensor<?xf32>
  %loss:2 = transformer_kernel.cross_entropy ins(%scores, %labels) outs(%scalar, %losses) {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<?x50xf32>, tensor<?xi64>, tensor<f32>, tensor<?xf32>) -> (tensor<f32>, tensor<?xf32>)
  %own = tensor.empty(%rows) : tensor<?x50xf32>
  %d = transformer_kernel.cross_entropy_gradient ins(%scores, %labels, %dloss) outs(%own) {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<?x50xf32>, tensor<?xi64>, tensor<f32>, tensor<?x50xf32>) -> tensor<?x50xf32>
  return %loss#0, %d : tensor<f32>, tensor<?x50xf32>
}

// -----

// Not where scores are read behind it, or not the function's own.
// CHECK-LABEL: @read_later(
// CHECK: %[[OWN:.*]] = tensor.empty
// CHECK: cross_entropy_gradient {{.*}} outs(%[[OWN]])
func.func @read_later(%labels: tensor<?xi64>, %dloss: tensor<f32>, %e: tensor<?x50xf32>) -> (tensor<?x50xf32>, tensor<?x50xf32>) {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %e, %c0 : tensor<?x50xf32>
  %zero = arith.constant 0.0 : f32
  %scores = linalg.fill ins(%zero : f32) outs(%e : tensor<?x50xf32>) -> tensor<?x50xf32>
  %own = tensor.empty(%rows) : tensor<?x50xf32>
  %d = transformer_kernel.cross_entropy_gradient ins(%scores, %labels, %dloss) outs(%own) {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<?x50xf32>, tensor<?xi64>, tensor<f32>, tensor<?x50xf32>) -> tensor<?x50xf32>
  return %d, %scores : tensor<?x50xf32>, tensor<?x50xf32>
}

// -----

// CHECK-LABEL: @of_others(
// CHECK: %[[OWN:.*]] = tensor.empty
// CHECK: cross_entropy_gradient {{.*}} outs(%[[OWN]])
func.func @of_others(%scores: tensor<?x50xf32>, %labels: tensor<?xi64>, %dloss: tensor<f32>) -> tensor<?x50xf32> {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %scores, %c0 : tensor<?x50xf32>
  %own = tensor.empty(%rows) : tensor<?x50xf32>
  %d = transformer_kernel.cross_entropy_gradient ins(%scores, %labels, %dloss) outs(%own) {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<?x50xf32>, tensor<?xi64>, tensor<f32>, tensor<?x50xf32>) -> tensor<?x50xf32>
  return %d : tensor<?x50xf32>
}
