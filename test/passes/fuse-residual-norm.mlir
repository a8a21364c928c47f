// RUN: transformer-opt %s --transformer-fuse-residual-norm | FileCheck %s

// CHECK-LABEL: @post_norm(
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>, %[[A:.*]]: tensor<?x8xf32>, %[[G:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<8xf32>
// CHECK-NEXT: %[[Y:.*]] = transformer.residual_layer_norm %[[X]], %[[A]], %[[G]], %[[B]] norm<eps = 9.9999999999999998E-13> : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @post_norm(%x: tensor<?x8xf32>, %a: tensor<?x8xf32>, %gamma: tensor<8xf32>, %beta: tensor<8xf32>) -> tensor<?x8xf32> {
  %s = arith.addf %x, %a : tensor<?x8xf32>
  %y = transformer.layer_norm %s, %gamma, %beta norm<eps = 1.0e-12> : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// CHECK-LABEL: @pre_norm(
// CHECK-NEXT: %[[Y:.*]], %[[SUM:.*]] = transformer.residual_layer_norm %{{.*}} norm<eps = {{.*}}, unbiased, eps_outside>
// CHECK-NEXT: %[[F:.*]] = transformer.activation relu %[[Y]]
// CHECK-NEXT: arith.addf %[[SUM]], %[[F]]
func.func @pre_norm(%x: tensor<?x8xf32>, %a: tensor<?x8xf32>, %gamma: tensor<8xf32>) -> tensor<?x8xf32> {
  %h = arith.addf %x, %a : tensor<?x8xf32>
  %n = transformer.layer_norm %h, %gamma, %gamma norm<eps = 1.0e-5, unbiased, eps_outside> : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  %f = transformer.activation relu %n : tensor<?x8xf32>
  %y = arith.addf %h, %f : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// Parallel residuals: the second norm reads the sum.
// CHECK-LABEL: @two_norms(
// CHECK-NEXT: %[[Y:.*]], %[[SUM:.*]] = transformer.residual_layer_norm
// CHECK-NEXT: transformer.layer_norm %[[SUM]]
func.func @two_norms(%x: tensor<?x8xf32>, %a: tensor<?x8xf32>, %g: tensor<8xf32>, %h: tensor<8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %s = arith.addf %x, %a : tensor<?x8xf32>
  %y = transformer.layer_norm %s, %g, %g norm<eps = 1.0e-5> : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  %z = transformer.layer_norm %s, %h, %h norm<eps = 1.0e-5> : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  return %y, %z : tensor<?x8xf32>, tensor<?x8xf32>
}

// The sum is read before the norm: the fused op stands in its place.
// CHECK-LABEL: @early_use(
// CHECK-NEXT: %[[Y:.*]], %[[SUM:.*]] = transformer.residual_layer_norm
// CHECK-NEXT: transformer.activation relu %[[SUM]]
func.func @early_use(%x: tensor<?x8xf32>, %a: tensor<?x8xf32>, %g: tensor<8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %s = arith.addf %x, %a : tensor<?x8xf32>
  %r = transformer.activation relu %s : tensor<?x8xf32>
  %y = transformer.layer_norm %s, %g, %g norm<eps = 1.0e-5> : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  return %y, %r : tensor<?x8xf32>, tensor<?x8xf32>
}

transformer.parameter @"norm.weight" : tensor<8xf32>

// The sum is read before gamma exists.
// CHECK-LABEL: @no_place(
// CHECK: transformer.layer_norm
func.func @no_place(%x: tensor<?x8xf32>, %a: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %s = arith.addf %x, %a : tensor<?x8xf32>
  %r = transformer.activation relu %s : tensor<?x8xf32>
  %g = transformer.get_parameter @"norm.weight" : tensor<8xf32>
  %y = transformer.layer_norm %s, %g, %g norm<eps = 1.0e-5> : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  return %y, %r : tensor<?x8xf32>, tensor<?x8xf32>
}

// CHECK-LABEL: @no_sum(
// CHECK: transformer.layer_norm
func.func @no_sum(%x: tensor<?x8xf32>, %g: tensor<8xf32>) -> tensor<?x8xf32> {
  %s = arith.mulf %x, %x : tensor<?x8xf32>
  %y = transformer.layer_norm %s, %g, %g norm<eps = 1.0e-5> : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// An RMS norm; its gamma exists where the sum stands, so both results come from there.
// CHECK-LABEL: @rms(
// CHECK-NEXT: %[[Y:.*]], %[[SUM:.*]] = transformer.residual_rms_norm %{{.*}}, %{{.*}}, %{{.*}} norm<eps = 1.000000e-05>
// CHECK-NEXT: return %[[Y]], %[[SUM]]
func.func @rms(%x: tensor<?x8xf32>, %a: tensor<?x8xf32>, %gamma: tensor<8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %s = arith.addf %x, %a : tensor<?x8xf32>
  %y = transformer.rms_norm %s, %gamma norm<eps = 1.0e-5> : tensor<?x8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  return %y, %s : tensor<?x8xf32>, tensor<?x8xf32>
}

// Backward: dx is added to the gradient of the residual, from either side.
// CHECK-LABEL: @gradients(
// CHECK-SAME: %{{[^:]*}}: tensor<?x8xf32>, %{{[^:]*}}: tensor<?x8xf32>, %[[DR:[^:]*]]: tensor<?x8xf32>
// CHECK-NEXT: %[[DX:.*]], %{{.*}}, %{{.*}} = transformer.layer_norm_gradient %{{.*}}, %{{.*}}, %{{.*}} onto(%[[DR]]) norm<eps = 1.000000e-05>
// CHECK-NEXT: %[[DZ:.*]], %{{.*}} = transformer.rms_norm_gradient %{{.*}}, %{{.*}}, %{{.*}} onto(%[[DX]]) norm<eps = 1.000000e-05>
// CHECK-NEXT: return %[[DX]], %[[DZ]]
func.func @gradients(%x: tensor<?x8xf32>, %dy: tensor<?x8xf32>, %dr: tensor<?x8xf32>, %gamma: tensor<8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %dx, %dg, %db = transformer.layer_norm_gradient %x, %gamma, %dy norm<eps = 1.0e-5> : tensor<?x8xf32>, tensor<8xf32>
  %s = arith.addf %dr, %dx : tensor<?x8xf32>
  %dz, %dh = transformer.rms_norm_gradient %x, %gamma, %dy norm<eps = 1.0e-5> : tensor<?x8xf32>, tensor<8xf32>
  %t = arith.addf %dz, %s : tensor<?x8xf32>
  return %s, %t : tensor<?x8xf32>, tensor<?x8xf32>
}

// A dx that something else reads; one that is made before what it is added to, or twice added.
// CHECK-LABEL: @apart(
// CHECK-NOT: onto
// CHECK: return
func.func @apart(%x: tensor<?x8xf32>, %dy: tensor<?x8xf32>, %dr: tensor<?x8xf32>, %gamma: tensor<8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) {
  %dx, %dg, %db = transformer.layer_norm_gradient %x, %gamma, %dy norm<eps = 1.0e-5> : tensor<?x8xf32>, tensor<8xf32>
  %s = arith.addf %dr, %dx : tensor<?x8xf32>
  %dz, %dh = transformer.rms_norm_gradient %x, %gamma, %dy norm<eps = 1.0e-5> : tensor<?x8xf32>, tensor<8xf32>
  %r = transformer.activation relu %dr : tensor<?x8xf32>
  %t = arith.addf %dz, %r : tensor<?x8xf32>
  %dw, %di = transformer.rms_norm_gradient %x, %gamma, %dy norm<eps = 1.0e-4> : tensor<?x8xf32>, tensor<8xf32>
  %u = arith.addf %dw, %dw : tensor<?x8xf32>
  return %s, %dx, %t, %u : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
}
