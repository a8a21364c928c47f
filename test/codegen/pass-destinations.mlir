// RUN: transformer-opt %s --transformer-pass-destinations --split-input-file | FileCheck %s

// In place where the op has a destination; a caller passes memory of the size that the layer computes.

// CHECK-LABEL: func.func private @layer(
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32>, %[[TO:.*]]: tensor<?x4xf32>)
func.func private @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x4xf32>
  %init = tensor.empty(%rows) : tensor<?x4xf32>
  // CHECK: linalg.exp ins(%[[X]] : tensor<?x4xf32>) outs(%[[TO]] : tensor<?x4xf32>)
  %y = linalg.exp ins(%x : tensor<?x4xf32>) outs(%init : tensor<?x4xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[A:.*]]: tensor<?x4xf32>, %[[OUT:.*]]: tensor<?x4xf32> {transformer.name = "y", transformer.output})
func.func @forward(%a: tensor<?x4xf32>) -> (tensor<?x4xf32> {transformer.name = "y"}) attributes {transformer.entry} {
  // CHECK: %[[ROWS:.*]] = tensor.dim %[[A]], %{{.*}} : tensor<?x4xf32>
  // CHECK: %[[MEMORY:.*]] = bufferization.alloc_tensor(%[[ROWS]]) : tensor<?x4xf32>
  // CHECK: %[[B:.*]] = call @layer(%[[A]], %[[MEMORY]])
  %b = call @layer(%a) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: %[[C:.*]] = call @layer(%[[B]], %[[OUT]])
  %c = call @layer(%b) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return %c : tensor<?x4xf32>
}

// -----

// Any rank and type; what is an argument, or is returned twice, is copied. Memory is one's own also where nobody reads.

// CHECK-LABEL: func.func private @mixed(
// CHECK-SAME: %[[IDS:.*]]: tensor<?x?xi64>, %[[W:.*]]: tensor<3xf32>, %[[Y0:.*]]: tensor<?xi64>, %[[Y1:.*]]: tensor<3xf32>, %[[Y2:.*]]: tensor<3xf32>)
func.func private @mixed(%ids: tensor<?x?xi64>, %w: tensor<3xf32>) -> (tensor<?xi64>, tensor<3xf32>, tensor<3xf32>) {
  // CHECK: %[[FLAT:.*]] = tensor.collapse_shape %[[IDS]]
  %flat = tensor.collapse_shape %ids [[0, 1]] : tensor<?x?xi64> into tensor<?xi64>
  // CHECK-DAG: linalg.copy ins(%[[FLAT]] : tensor<?xi64>) outs(%[[Y0]] : tensor<?xi64>)
  // CHECK-DAG: linalg.copy ins(%[[W]] : tensor<3xf32>) outs(%[[Y1]] : tensor<3xf32>)
  // CHECK-DAG: linalg.copy ins(%[[W]] : tensor<3xf32>) outs(%[[Y2]] : tensor<3xf32>)
  return %flat, %w, %w : tensor<?xi64>, tensor<3xf32>, tensor<3xf32>
}
// CHECK-LABEL: func.func @reads_one(
func.func @reads_one(%ids: tensor<?x?xi64>, %w: tensor<3xf32>) -> tensor<3xf32> {
  // CHECK-DAG: %[[B:.*]] = tensor.dim %{{.*}}, %c0
  // CHECK-DAG: %[[S:.*]] = tensor.dim %{{.*}}, %c1
  // CHECK: %[[N:.*]] = affine.apply #{{.*}}()[%[[B]], %[[S]]]
  // CHECK: bufferization.alloc_tensor(%[[N]]) : tensor<?xi64>
  // CHECK-COUNT-1: bufferization.alloc_tensor() : tensor<3xf32>
  %r:3 = call @mixed(%ids, %w) : (tensor<?x?xi64>, tensor<3xf32>) -> (tensor<?xi64>, tensor<3xf32>, tensor<3xf32>)
  return %r#2 : tensor<3xf32>
}

// -----

// One value twice behind two reshapes: it is written to one destination and copied to the other.

// CHECK-LABEL: func.func @twice_reshaped(
// CHECK-SAME: %[[X:.*]]: tensor<?x2x4xf32>, %[[Y0:.*]]: tensor<?x2x4xf32>, %[[Y1:.*]]: tensor<?x2x4xf32>)
func.func @twice_reshaped(%x: tensor<?x2x4xf32>) -> (tensor<?x2x4xf32>, tensor<?x2x4xf32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x2x4xf32>
  %init = tensor.empty(%n) : tensor<?x2x4xf32>
  // CHECK: %[[FLAT:.*]] = tensor.collapse_shape %[[Y1]]
  // CHECK: %[[OUT:.*]] = tensor.expand_shape %[[FLAT]]
  // CHECK: linalg.exp ins(%[[X]] : tensor<?x2x4xf32>) outs(%[[OUT]]
  %e = linalg.exp ins(%x : tensor<?x2x4xf32>) outs(%init : tensor<?x2x4xf32>) -> tensor<?x2x4xf32>
  %flat = tensor.collapse_shape %e [[0], [1, 2]] : tensor<?x2x4xf32> into tensor<?x8xf32>
  // CHECK: %[[BACK:.*]] = tensor.expand_shape
  %back = tensor.expand_shape %flat [[0], [1, 2]] output_shape [%n, 2, 4] : tensor<?x8xf32> into tensor<?x2x4xf32>
  // CHECK: %[[COPY:.*]] = linalg.copy ins(%[[BACK]] : tensor<?x2x4xf32>) outs(%[[Y0]]
  // CHECK: return %[[COPY]], %[[BACK]]
  return %back, %back : tensor<?x2x4xf32>, tensor<?x2x4xf32>
}

// -----

// Through both reshapes of a value that is returned once.

// CHECK-LABEL: func.func @reshaped(
// CHECK-SAME: %[[X:.*]]: tensor<?x2x4xf32>, %[[Y:.*]]: tensor<?x2x4xf32>)
func.func @reshaped(%x: tensor<?x2x4xf32>) -> tensor<?x2x4xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x2x4xf32>
  %init = tensor.empty(%n) : tensor<?x2x4xf32>
  // CHECK: %[[FLAT:.*]] = tensor.collapse_shape %[[Y]]
  // CHECK: %[[TO:.*]] = tensor.expand_shape %[[FLAT]]
  // CHECK: linalg.exp ins(%[[X]] : tensor<?x2x4xf32>) outs(%[[TO]] : tensor<?x2x4xf32>)
  %e = linalg.exp ins(%x : tensor<?x2x4xf32>) outs(%init : tensor<?x2x4xf32>) -> tensor<?x2x4xf32>
  %flat = tensor.collapse_shape %e [[0], [1, 2]] : tensor<?x2x4xf32> into tensor<?x8xf32>
  %back = tensor.expand_shape %flat [[0], [1, 2]] output_shape [%n, 2, 4] : tensor<?x8xf32> into tensor<?x2x4xf32>
  return %back : tensor<?x2x4xf32>
}
