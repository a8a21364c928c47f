// RUN: transformer-opt %s | transformer-opt | FileCheck %s
// RUN: transformer-opt %s --mlir-print-op-generic | transformer-opt | FileCheck %s

// CHECK-LABEL: func @layers
func.func @layers(%x: tensor<?x4xf32>, %w: tensor<6x4xf32>, %wt: tensor<4x6xf32>, %b6: tensor<6xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>) {
  // CHECK: transformer.linear %{{.*}}, %{{.*}} bias(%{{.*}} : tensor<6xf32>) out_in : tensor<?x4xf32>, tensor<6x4xf32> -> tensor<?x6xf32>
  %0 = transformer.linear %x, %w bias(%b6 : tensor<6xf32>) out_in : tensor<?x4xf32>, tensor<6x4xf32> -> tensor<?x6xf32>
  // CHECK: transformer.linear %{{.*}}, %{{.*}} in_out : tensor<?x4xf32>, tensor<4x6xf32> -> tensor<?x6xf32>
  %1 = transformer.linear %x, %wt in_out : tensor<?x4xf32>, tensor<4x6xf32> -> tensor<?x6xf32>
  // CHECK: transformer.split %{{.*}} : tensor<?x4xf32> -> tensor<?x1xf32>, tensor<?x3xf32>
  %2, %3 = transformer.split %x : tensor<?x4xf32> -> tensor<?x1xf32>, tensor<?x3xf32>
  // CHECK: transformer.layer_norm %{{.*}}, %{{.*}}, %{{.*}} norm<eps = 1.000000e-05> : tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<?x4xf32>
  %4 = transformer.layer_norm %x, %g, %b norm<eps = 1.0e-5> : tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<?x4xf32>
  // CHECK: transformer.layer_norm %{{.*}} norm<eps = {{.*}}, unbiased, eps_outside>
  %5 = transformer.layer_norm %x, %g, %b norm<eps = 1.0e-6, unbiased, eps_outside> : tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<?x4xf32>
  // CHECK: transformer.residual_layer_norm %{{.*}} : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %6 = transformer.residual_layer_norm %x, %x, %g, %b norm<eps = 0.0> : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  // CHECK: transformer.residual_layer_norm %{{.*}} -> (tensor<?x4xf32>, tensor<?x4xf32>)
  %7, %8 = transformer.residual_layer_norm %x, %x, %g, %b norm<eps = 0.0> : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
  // CHECK: transformer.rms_norm %{{.*}}, %{{.*}} norm<eps = 1.000000e-05> : tensor<?x4xf32>, tensor<4xf32> -> tensor<?x4xf32>
  %9 = transformer.rms_norm %x, %g norm<eps = 1.0e-5> : tensor<?x4xf32>, tensor<4xf32> -> tensor<?x4xf32>
  // CHECK: transformer.residual_rms_norm %{{.*}} norm<eps = 0.000000e+00> : {{.*}} -> (tensor<?x4xf32>, tensor<?x4xf32>)
  %10, %11 = transformer.residual_rms_norm %x, %x, %g norm<eps = 0.0> : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
  // CHECK: transformer.quantize_weight bf16 %{{.*}} out_in : tensor<6x4xf32>
  %12 = transformer.quantize_weight bf16 %w out_in : tensor<6x4xf32>
  // CHECK: transformer.quantize_weight int8 %{{.*}} in_out : tensor<4x6xf32>
  %13 = transformer.quantize_weight int8 %wt in_out : tensor<4x6xf32>
  // CHECK: transformer.quantize_rows int8 %{{.*}} : tensor<?x4xf32>
  %15 = transformer.quantize_rows int8 %x : tensor<?x4xf32>
  // CHECK: transformer.quantize_weight int4 %{{.*}} out_in : tensor<6x4xf32>
  %14 = transformer.quantize_weight int4 %w out_in : tensor<6x4xf32>
  return
}

// CHECK-LABEL: func @activations
func.func @activations(%x: tensor<?x4xf32>) {
  // CHECK: transformer.activation relu %{{.*}} : tensor<?x4xf32>
  %0 = transformer.activation relu %x : tensor<?x4xf32>
  // CHECK: transformer.activation gelu %
  %1 = transformer.activation gelu %x : tensor<?x4xf32>
  // CHECK: transformer.activation gelu_tanh %
  %2 = transformer.activation gelu_tanh %x : tensor<?x4xf32>
  // CHECK: transformer.activation silu %
  %3 = transformer.activation silu %x : tensor<?x4xf32>
  // CHECK: transformer.activation quick_gelu %
  %4 = transformer.activation quick_gelu %x : tensor<?x4xf32>
  // CHECK: transformer.activation tanh %
  %5 = transformer.activation tanh %x : tensor<?x4xf32>
  return
}
