// RUN: transformer-opt %s --transformer-differentiate --transformer-add-optimizer --symbol-dce | FileCheck %s
// RUN: transformer-opt %s --transformer-differentiate --transformer-add-optimizer --symbol-dce --transformer-to-linalg-on-tensors --transformer-cpu-set-target=arch=x86-64-v3 --transformer-cpu-pack-linear | FileCheck %s --check-prefix=CPU

transformer.parameter @w0 : tensor<8x8xf32>
transformer.parameter @w1 : tensor<8x8xf32>
transformer.parameter @w2 : tensor<8x8xf32>
transformer.parameter @b0 : tensor<8xf32>
transformer.parameter @b1 : tensor<8xf32>
transformer.parameter @b2 : tensor<8xf32>

// Where a layer's product makes a gradient, its function returns the sum of squares as well, to every call; a bias' is
// summed where the gradient has come back.
// CHECK-LABEL: func.func private @layer.backward(
// CHECK-SAME: -> (tensor<?x8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<f32>)
// CHECK: %[[DW:.*]] = transformer.linear_weight_gradient
// CHECK: %[[S:.*]] = transformer.sum_squares %[[DW]] : tensor<8x8xf32>
// CHECK: return %{{.*}}, %[[DW]], %{{.*}}, %[[S]] :
// CPU-LABEL: func.func private @layer.backward(
// CPU: %[[OF:.*]]:5 = transformer_cpu.weight_gradient squares ins({{.*}}) outs({{.*}}) : {{.*}} -> (tensor<8x8xf32>, tensor<2x?x6xf32>, tensor<1x?x16xf32>, tensor<f32>, tensor<2xf32>)
// CPU-NOT: transformer_kernel.sum_squares
// CPU: return %{{.*}}, %[[OF]]#0, %{{.*}}, %[[OF]]#3
func.func private @layer(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>) -> tensor<?x8xf32> {
  %0 = transformer.linear %x, %w bias(%b : tensor<8xf32>) out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @train_step(
// CHECK: %[[LAST:.*]]:4 = call @layer.backward(
// CHECK-NEXT: %[[LASTBIAS:.*]] = call @squares.8(%[[LAST]]#2)
// CHECK: %[[MIDDLE:.*]]:4 = call @layer.backward(
// CHECK-NEXT: %[[MIDDLEBIAS:.*]] = call @squares.8(%[[MIDDLE]]#2)
// CHECK: %[[FIRST:.*]]:3 = call @layer.backward_0(
// CHECK: %[[FIRSTBIAS:.*]] = call @squares.8(%[[FIRST]]#1)
// CHECK: arith.addf %[[FIRST]]#2, %[[FIRSTBIAS]]
// CHECK-NEXT: arith.addf %{{.*}}, %[[MIDDLE]]#3
// CHECK-NEXT: arith.addf %{{.*}}, %[[MIDDLEBIAS]]
// CHECK-NEXT: arith.addf %{{.*}}, %[[LAST]]#3
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %{{.*}}, %[[LASTBIAS]]
// CHECK-NEXT: transformer.clip_grad_norm %[[SUM]]
// CHECK: call @adamw.8x8(%{{.*}}, %{{.*}}, %{{.*}}, %[[FIRST]]#0,
func.func @loss(%x: tensor<?x8xf32>, %labels: tensor<?xi64>) -> (tensor<f32> {transformer.name = "loss"}) {
  %w0 = transformer.get_parameter @w0 : tensor<8x8xf32>
  %b0 = transformer.get_parameter @b0 : tensor<8xf32>
  %w1 = transformer.get_parameter @w1 : tensor<8x8xf32>
  %b1 = transformer.get_parameter @b1 : tensor<8xf32>
  %w2 = transformer.get_parameter @w2 : tensor<8x8xf32>
  %b2 = transformer.get_parameter @b2 : tensor<8xf32>
  %0 = call @layer(%x, %w0, %b0) : (tensor<?x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %1 = call @layer(%0, %w1, %b1) : (tensor<?x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %2 = call @layer(%1, %w2, %b2) : (tensor<?x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %loss = transformer.cross_entropy %2, %labels : tensor<?x8xf32>, tensor<?xi64> -> tensor<f32>
  return %loss : tensor<f32>
}
