// RUN: transformer-opt %s --transformer-share-softmax | FileCheck %s
// RUN: transformer-opt %s --transformer-share-softmax=in-one-sweep | FileCheck %s --check-prefix=SWEEP

// The backward of a loss has the softmax of the loss.
// CHECK-LABEL: @loss(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x50xf32>, %[[LABELS:[^:]*]]: tensor<?xi64>
// CHECK: %[[SOFTMAX:.*]] = tensor.empty(%{{.*}}) : tensor<?x2xf32>
// CHECK: %[[LOSS:.*]]:3 = transformer_kernel.cross_entropy ins(%[[X]], %[[LABELS]]) outs(%{{.*}}, %{{.*}}, %[[SOFTMAX]])
// CHECK: transformer_kernel.cross_entropy_gradient ins(%[[X]], %[[LABELS]], %{{.*}}, softmax %[[LOSS]]#2)
// CHECK: return %[[LOSS]]#0
func.func @loss(%x: tensor<?x50xf32>, %labels: tensor<?xi64>, %dloss: tensor<f32>) -> (tensor<f32>, tensor<?x50xf32>) {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x50xf32>
  %scalar = tensor.empty() : tensor<f32>
  %losses = tensor.empty(%rows) : tensor<?xf32>
  %loss:2 = transformer_kernel.cross_entropy ins(%x, %labels) outs(%scalar, %losses) {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<?x50xf32>, tensor<?xi64>, tensor<f32>, tensor<?xf32>) -> (tensor<f32>, tensor<?xf32>)
  %e = tensor.empty(%rows) : tensor<?x50xf32>
  %d = transformer_kernel.cross_entropy_gradient ins(%x, %labels, %dloss) outs(%e) {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<?x50xf32>, tensor<?xi64>, tensor<f32>, tensor<?x50xf32>) -> tensor<?x50xf32>
  return %loss#0, %d : tensor<f32>, tensor<?x50xf32>
}

// Of other labels, or of none that are ignored, it is another.
// CHECK-LABEL: @others(
// CHECK: cross_entropy ins(%{{.*}}) {{.*}} -> (tensor<f32>, tensor<?xf32>)
// CHECK-NOT: softmax
func.func @others(%x: tensor<?x50xf32>, %labels: tensor<?xi64>, %dloss: tensor<f32>) -> (tensor<f32>, tensor<?x50xf32>) {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x50xf32>
  %scalar = tensor.empty() : tensor<f32>
  %losses = tensor.empty(%rows) : tensor<?xf32>
  %loss:2 = transformer_kernel.cross_entropy ins(%x, %labels) outs(%scalar, %losses) {ignore_index = 0 : i64, label_smoothing = 0.0 : f64} : (tensor<?x50xf32>, tensor<?xi64>, tensor<f32>, tensor<?xf32>) -> (tensor<f32>, tensor<?xf32>)
  %e = tensor.empty(%rows) : tensor<?x50xf32>
  %d = transformer_kernel.cross_entropy_gradient ins(%x, %labels, %dloss) outs(%e) {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<?x50xf32>, tensor<?xi64>, tensor<f32>, tensor<?x50xf32>) -> tensor<?x50xf32>
  return %loss#0, %d : tensor<f32>, tensor<?x50xf32>
}

// Where caches hold a row, the backward makes the loss; what reads it comes behind.
// CHECK-LABEL: @both(
// SWEEP-LABEL: @both(
// SWEEP-SAME: %[[X:[^:]*]]: tensor<?x50xf32>, %[[LABELS:[^:]*]]: tensor<?xi64>
// SWEEP-NOT: cross_entropy ins
// SWEEP: %[[ALL:.*]]:3 = transformer_kernel.cross_entropy_gradient ins(%[[X]], %[[LABELS]], %{{.*}}) outs({{.*}}) {{.*}} -> (tensor<?x50xf32>, tensor<f32>, tensor<?xf32>)
// SWEEP: %[[R:.*]] = tensor.collapse_shape %[[ALL]]#1
// SWEEP: return %[[R]], %[[ALL]]#0
func.func @both(%x: tensor<?x50xf32>, %labels: tensor<?xi64>, %given: tensor<f32>) -> (tensor<f32>, tensor<?x50xf32>) {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x50xf32>
  %scalar = tensor.empty() : tensor<f32>
  %losses = tensor.empty(%rows) : tensor<?xf32>
  %loss:2 = transformer_kernel.cross_entropy ins(%x, %labels) outs(%scalar, %losses) {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<?x50xf32>, tensor<?xi64>, tensor<f32>, tensor<?xf32>) -> (tensor<f32>, tensor<?xf32>)
  %read = tensor.collapse_shape %loss#0 [] : tensor<f32> into tensor<f32>
  %dloss = tensor.collapse_shape %given [] : tensor<f32> into tensor<f32>
  %e = tensor.empty(%rows) : tensor<?x50xf32>
  %d = transformer_kernel.cross_entropy_gradient ins(%x, %labels, %dloss) outs(%e) {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<?x50xf32>, tensor<?xi64>, tensor<f32>, tensor<?x50xf32>) -> tensor<?x50xf32>
  return %read, %d : tensor<f32>, tensor<?x50xf32>
}

// It cannot if it needs the loss itself, or of other smoothing: then it shares the softmax.
// SWEEP-LABEL: @waits(
// SWEEP: cross_entropy ins
// SWEEP: cross_entropy_gradient {{.*}} softmax
// SWEEP-LABEL: @smoothed(
// SWEEP: cross_entropy ins
// SWEEP: cross_entropy_gradient {{.*}} softmax
func.func @waits(%x: tensor<?x50xf32>, %labels: tensor<?xi64>) -> (tensor<f32>, tensor<?x50xf32>) {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x50xf32>
  %scalar = tensor.empty() : tensor<f32>
  %losses = tensor.empty(%rows) : tensor<?xf32>
  %loss:2 = transformer_kernel.cross_entropy ins(%x, %labels) outs(%scalar, %losses) {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<?x50xf32>, tensor<?xi64>, tensor<f32>, tensor<?xf32>) -> (tensor<f32>, tensor<?xf32>)
  %e = tensor.empty(%rows) : tensor<?x50xf32>
  %d = transformer_kernel.cross_entropy_gradient ins(%x, %labels, %loss#0) outs(%e) {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<?x50xf32>, tensor<?xi64>, tensor<f32>, tensor<?x50xf32>) -> tensor<?x50xf32>
  return %loss#0, %d : tensor<f32>, tensor<?x50xf32>
}
func.func @smoothed(%x: tensor<?x50xf32>, %labels: tensor<?xi64>, %dloss: tensor<f32>) -> (tensor<f32>, tensor<?x50xf32>) {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x50xf32>
  %scalar = tensor.empty() : tensor<f32>
  %losses = tensor.empty(%rows) : tensor<?xf32>
  %loss:2 = transformer_kernel.cross_entropy ins(%x, %labels) outs(%scalar, %losses) {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<?x50xf32>, tensor<?xi64>, tensor<f32>, tensor<?xf32>) -> (tensor<f32>, tensor<?xf32>)
  %e = tensor.empty(%rows) : tensor<?x50xf32>
  %d = transformer_kernel.cross_entropy_gradient ins(%x, %labels, %dloss) outs(%e) {ignore_index = -100 : i64, label_smoothing = 0.1 : f64} : (tensor<?x50xf32>, tensor<?xi64>, tensor<f32>, tensor<?x50xf32>) -> tensor<?x50xf32>
  return %loss#0, %d : tensor<f32>, tensor<?x50xf32>
}
