// RUN: transformer-opt %s --transformer-gpu-fuse-roundings --allow-unregistered-dialect | FileCheck %s

#all = affine_map<(d0, d1) -> (d0, d1)>

// A norm that is rounded alone writes that; one whose numbers others read, too, writes both, behind its sum.
// CHECK-LABEL: @norms(
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32>, %[[G:.*]]: tensor<64xf32>
// CHECK: %[[ONE:.*]] = transformer_kernel.layer_norm ins(%[[X]], %[[G]], %[[G]]) outs(%{{.*}}) {{.*}} -> tensor<?x64xbf16>
// CHECK: %[[ALL:.*]]:3 = transformer_kernel.layer_norm {{.*}} -> (tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xbf16>)
// CHECK-NOT: linalg.generic
// CHECK: "test.use"(%[[ONE]], %[[ALL]]#0, %[[ALL]]#1, %[[ALL]]#2)
func.func @norms(%x: tensor<?x64xf32>, %g: tensor<64xf32>) {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x64xf32>
  %e = tensor.empty(%rows) : tensor<?x64xf32>
  %y = transformer_kernel.layer_norm ins(%x, %g, %g) outs(%e) norm<eps = 1.0e-05> : (tensor<?x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
  %one_empty = tensor.empty(%rows) : tensor<?x64xbf16>
  %one = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<?x64xf32>) outs(%one_empty : tensor<?x64xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %0 = arith.truncf %in : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<?x64xbf16>
  %z:2 = transformer_kernel.layer_norm ins(%x residual(%x), %g, %g) outs(%e, %e) norm<eps = 1.0e-05> : (tensor<?x64xf32>, tensor<?x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<?x64xf32>, tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>)
  %two_empty = tensor.empty(%rows) : tensor<?x64xbf16>
  %two = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%z#0 : tensor<?x64xf32>) outs(%two_empty : tensor<?x64xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %0 = arith.truncf %in : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<?x64xbf16>
  "test.use"(%one, %z#0, %z#1, %two) : (tensor<?x64xbf16>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xbf16>) -> ()
  return
}

// What is read in 16 bits alone.
// CHECK-LABEL: @bias_gradient(
// CHECK: %[[D:.*]] = transformer_kernel.dropout {{.*}} -> tensor<?x64xbf16>
// CHECK: transformer_kernel.sum_rows ins(%[[D]])
func.func @bias_gradient(%x: tensor<?x64xf32>, %key: i64) -> (tensor<64xf32>, tensor<?x64xbf16>) {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x64xf32>
  %e = tensor.empty(%rows) : tensor<?x64xf32>
  %y = transformer_kernel.dropout ins(%x, %key) outs(%e) {rate = 0.1} : (tensor<?x64xf32>, i64, tensor<?x64xf32>) -> tensor<?x64xf32>
  %rounded_empty = tensor.empty(%rows) : tensor<?x64xbf16>
  %rounded = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<?x64xf32>) outs(%rounded_empty : tensor<?x64xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %0 = arith.truncf %in : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<?x64xbf16>
  %of = tensor.empty() : tensor<64xf32>
  %sum = transformer_kernel.sum_rows ins(%rounded) outs(%of) : (tensor<?x64xbf16>, tensor<64xf32>) -> tensor<64xf32>
  return %sum, %rounded : tensor<64xf32>, tensor<?x64xbf16>
}

// Others read the f32, too: both.
// CHECK-LABEL: @read_as_f32(
// CHECK: %[[D:.*]]:2 = transformer_kernel.dropout {{.*}} -> (tensor<?x64xf32>, tensor<?x64xbf16>)
// CHECK: transformer_kernel.sum_rows ins(%[[D]]#0)
func.func @read_as_f32(%x: tensor<?x64xf32>, %key: i64) -> (tensor<64xf32>, tensor<?x64xf32>, tensor<?x64xbf16>) {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x64xf32>
  %e = tensor.empty(%rows) : tensor<?x64xf32>
  %y = transformer_kernel.dropout ins(%x, %key) outs(%e) {rate = 0.1} : (tensor<?x64xf32>, i64, tensor<?x64xf32>) -> tensor<?x64xf32>
  %rounded_empty = tensor.empty(%rows) : tensor<?x64xbf16>
  %rounded = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<?x64xf32>) outs(%rounded_empty : tensor<?x64xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %0 = arith.truncf %in : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<?x64xbf16>
  %of = tensor.empty() : tensor<64xf32>
  %sum = transformer_kernel.sum_rows ins(%y) outs(%of) : (tensor<?x64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %sum, %y, %rounded : tensor<64xf32>, tensor<?x64xf32>, tensor<?x64xbf16>
}

// Rows of an odd width begin at multiples of 16 bytes.
// CHECK-LABEL: @loss(
// CHECK: %[[ROWS:.*]] = tensor.empty(%{{.*}}) : tensor<?x56xbf16>
// CHECK: %[[OUT:.*]] = tensor.extract_slice %[[ROWS]][0, 0] [%{{.*}}, 50] [1, 1]
// CHECK: transformer_kernel.cross_entropy_gradient ins({{.*}}) outs(%[[OUT]]) {{.*}} -> tensor<?x50xbf16>
func.func @loss(%x: tensor<?x50xf32>, %labels: tensor<?xi64>, %dloss: tensor<f32>) -> (tensor<f32>, tensor<?x50xbf16>) {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x50xf32>
  %scalar = tensor.empty() : tensor<f32>
  %losses = tensor.empty(%rows) : tensor<?xf32>
  %loss:2 = transformer_kernel.cross_entropy ins(%x, %labels) outs(%scalar, %losses) {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<?x50xf32>, tensor<?xi64>, tensor<f32>, tensor<?xf32>) -> (tensor<f32>, tensor<?xf32>)
  %e = tensor.empty(%rows) : tensor<?x50xf32>
  %d = transformer_kernel.cross_entropy_gradient ins(%x, %labels, %dloss) outs(%e) {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<?x50xf32>, tensor<?xi64>, tensor<f32>, tensor<?x50xf32>) -> tensor<?x50xf32>
  %wide = tensor.empty(%rows) : tensor<?x56xbf16>
  %part = tensor.extract_slice %wide[0, 0] [%rows, 50] [1, 1] : tensor<?x56xbf16> to tensor<?x50xbf16>
  %rounded = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%d : tensor<?x50xf32>) outs(%part : tensor<?x50xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %0 = arith.truncf %in : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<?x50xbf16>
  return %loss#0, %rounded : tensor<f32>, tensor<?x50xbf16>
}
