// RUN: transformer-opt %s --transformer-fuse-embedding-norm | FileCheck %s

// CHECK-LABEL: @two(
// CHECK-SAME: %[[IDS:.*]]: tensor<?xi64>, %[[POS:.*]]: tensor<?xi64>, %[[WORDS:.*]]: tensor<30x8xf32>, %[[PLACES:.*]]: tensor<16x8xf32>, %[[G:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<8xf32>
// CHECK-NEXT: %[[Y:.*]] = transformer.embedding_layer_norm ids(%[[IDS]], %[[POS]]) tables(%[[WORDS]], %[[PLACES]]) norm(%[[G]], %[[B]]) <eps = 9.9999999999999998E-13>
// CHECK-NEXT: return %[[Y]]
func.func @two(%ids: tensor<?xi64>, %positions: tensor<?xi64>, %words: tensor<30x8xf32>, %places: tensor<16x8xf32>, %gamma: tensor<8xf32>, %beta: tensor<8xf32>) -> tensor<?x8xf32> {
  %e = transformer.embedding %ids, %words : tensor<?xi64>, tensor<30x8xf32> -> tensor<?x8xf32>
  %p = transformer.embedding %positions, %places : tensor<?xi64>, tensor<16x8xf32> -> tensor<?x8xf32>
  %s = arith.addf %e, %p : tensor<?x8xf32>
  %y = transformer.layer_norm %s, %gamma, %beta norm<eps = 1.0e-12> : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// c + (a + b) = (a + b) + c.
// CHECK-LABEL: @three(
// CHECK-SAME: %[[A:.*]]: tensor<?xi64>, %[[B:.*]]: tensor<?xi64>, %[[C:.*]]: tensor<?xi64>, %[[T:.*]]: tensor<30x8xf32>
// CHECK-NOT: arith.addf
// CHECK: transformer.embedding_layer_norm ids(%[[A]], %[[B]], %[[C]]) tables(%[[T]], %[[T]], %[[T]]) norm({{.*}}) <eps = {{.*}}, unbiased>
func.func @three(%a: tensor<?xi64>, %b: tensor<?xi64>, %c: tensor<?xi64>, %t: tensor<30x8xf32>, %gamma: tensor<8xf32>) -> tensor<?x8xf32> {
  %0 = transformer.embedding %a, %t : tensor<?xi64>, tensor<30x8xf32> -> tensor<?x8xf32>
  %1 = transformer.embedding %b, %t : tensor<?xi64>, tensor<30x8xf32> -> tensor<?x8xf32>
  %2 = transformer.embedding %c, %t : tensor<?xi64>, tensor<30x8xf32> -> tensor<?x8xf32>
  %3 = arith.addf %0, %1 : tensor<?x8xf32>
  %4 = arith.addf %2, %3 : tensor<?x8xf32>
  %y = transformer.layer_norm %4, %gamma, %gamma norm<eps = 1.0e-6, unbiased> : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// CHECK-LABEL: @one(
// CHECK-NEXT: transformer.embedding_layer_norm
// CHECK-NEXT: return
func.func @one(%ids: tensor<?xi64>, %t: tensor<30x8xf32>, %gamma: tensor<8xf32>) -> tensor<?x8xf32> {
  %e = transformer.embedding %ids, %t : tensor<?xi64>, tensor<30x8xf32> -> tensor<?x8xf32>
  %y = transformer.layer_norm %e, %gamma, %gamma norm<eps = 1.0e-6> : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// The same embedding twice.
// CHECK-LABEL: @twice(
// CHECK-SAME: %[[A:.*]]: tensor<?xi64>
// CHECK-NEXT: transformer.embedding_layer_norm ids(%[[A]], %[[A]])
// CHECK-NEXT: return
func.func @twice(%ids: tensor<?xi64>, %t: tensor<30x8xf32>, %gamma: tensor<8xf32>) -> tensor<?x8xf32> {
  %e = transformer.embedding %ids, %t : tensor<?xi64>, tensor<30x8xf32> -> tensor<?x8xf32>
  %s = arith.addf %e, %e : tensor<?x8xf32>
  %y = transformer.layer_norm %s, %gamma, %gamma norm<eps = 1.0e-6> : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// CHECK-LABEL: @scaled(
// CHECK: transformer.layer_norm
func.func @scaled(%ids: tensor<?xi64>, %t: tensor<30x8xf32>, %gamma: tensor<8xf32>) -> tensor<?x8xf32> {
  %e = transformer.embedding %ids, %t {scale = 2.0 : f64} : tensor<?xi64>, tensor<30x8xf32> -> tensor<?x8xf32>
  %p = transformer.embedding %ids, %t : tensor<?xi64>, tensor<30x8xf32> -> tensor<?x8xf32>
  %s = arith.addf %e, %p : tensor<?x8xf32>
  %y = transformer.layer_norm %s, %gamma, %gamma norm<eps = 1.0e-6> : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// Somebody else reads the sum; a sum of sums has no order from left to right.
// CHECK-LABEL: @left_alone(
// CHECK-NOT: transformer.embedding_layer_norm
// CHECK: return
func.func @left_alone(%ids: tensor<?xi64>, %t: tensor<30x8xf32>, %gamma: tensor<8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) {
  %a = transformer.embedding %ids, %t : tensor<?xi64>, tensor<30x8xf32> -> tensor<?x8xf32>
  %s = arith.addf %a, %a : tensor<?x8xf32>
  %y = transformer.layer_norm %s, %gamma, %gamma norm<eps = 1.0e-6> : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  %p = arith.addf %a, %a : tensor<?x8xf32>
  %q = arith.addf %a, %a : tensor<?x8xf32>
  %r = arith.addf %p, %q : tensor<?x8xf32>
  %z = transformer.layer_norm %r, %gamma, %gamma norm<eps = 1.0e-6> : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  return %s, %y, %z : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
}
