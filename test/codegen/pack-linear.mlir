// DEFINE: %{arch} = haswell
// DEFINE: %{pack} = transformer-opt %s --transformer-to-linalg-on-tensors --transformer-cpu-set-target=arch=%{arch} --transformer-cpu-pack-linear --transformer-pass-destinations --split-input-file
// RUN: %{pack} | FileCheck %s --implicit-check-not=linalg.matmul
// REDEFINE: %{arch} = x86-64-v4
// RUN: %{pack} | FileCheck %s --check-prefix=WIDE

// CHECK-LABEL: @linear_out_in(
// CHECK-SAME: %[[X:.*]]: tensor<?x5xf32>, %[[W:.*]]: tensor<32x5xf32>, %[[Y:.*]]: tensor<?x32xf32>) -> tensor<?x32xf32>
// CHECK: %[[D:.*]] = tensor.expand_shape %[[Y]] {{.*}} into tensor<?x2x16xf32>
// CHECK: %[[P:.*]] = transformer_cpu.pack_weight out_in ins(%[[W]]) {{.*}} -> tensor<2x5x16xf32>
// CHECK: %[[Z:.*]] = linalg.fill {{.*}} outs(%[[D]]
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[P]] {{.*}} outs(%[[Z]] {{.*}} {transformer_cpu.linear = #transformer_cpu.linear<contraction, "f32">}
// CHECK: linalg.generic {{.*}} outs(%[[S]] {{.*}} {transformer.work = {bytes = array<i64: 148>, fixed_bytes = 640 : i64, flops = array<i64: 320>, label = "linear 5x32", shape = "tokens={} K=5 N=32"}, transformer_cpu.linear = #transformer_cpu.linear<epilogue>}
// WIDE-LABEL: @linear_out_in(
// WIDE: transformer_cpu.pack_weight {{.*}} -> tensor<1x5x32xf32>
func.func @linear_out_in(%x: tensor<?x5xf32>, %w: tensor<32x5xf32>) -> tensor<?x32xf32> {
  %0 = transformer.linear %x, %w out_in : tensor<?x5xf32>, tensor<32x5xf32> -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}

// -----

// Bias, activation and residual are one epilogue.
// CHECK-LABEL: @linear_in_out_epilogue(
// CHECK-SAME: %[[W:[^:]*]]: tensor<5x32xf32>, %[[B:[^:]*]]: tensor<32xf32>, %[[R:[^:]*]]: tensor<?x32xf32>
// CHECK: transformer_cpu.pack_weight in_out ins(%[[W]]) {{.*}} -> tensor<2x5x16xf32>
// CHECK: %[[RP:.*]] = tensor.expand_shape %[[R]]
// CHECK: %[[BP:.*]] = tensor.expand_shape %[[B]]
// CHECK: linalg.generic {{.*}} ins(%[[RP]], %[[BP]] {{.*}}transformer.work = {bytes = array<i64: 276>, fixed_bytes = 768 : i64, flops = array<i64: 320>, label = "linear 5x32 relu", shape = "tokens={} K=5 N=32"}
// CHECK-NEXT: (%[[RI:.*]]: f32, %[[BI:.*]]: f32, %[[SUM:.*]]: f32)
// CHECK-NEXT: %[[Y:.*]] = arith.addf %[[SUM]], %[[BI]]
// CHECK-NEXT: %[[A:.*]] = transformer.activation relu %[[Y]]
// CHECK-NEXT: arith.addf %[[RI]], %[[A]]
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @linear_in_out_epilogue(%x: tensor<?x5xf32>, %w: tensor<5x32xf32>, %b: tensor<32xf32>, %r: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %0 = transformer.linear %x, %w bias(%b : tensor<32xf32>) in_out : tensor<?x5xf32>, tensor<5x32xf32> -> tensor<?x32xf32>
  %1 = transformer.activation relu %0 : tensor<?x32xf32>
  %2 = arith.addf %r, %1 : tensor<?x32xf32>
  return %2 : tensor<?x32xf32>
}

// -----

// A bias is padded for the last panel.
// CHECK-LABEL: @width_17(
// CHECK: transformer_cpu.pack_weight out_in {{.*}} -> tensor<2x5x16xf32>
// CHECK: tensor.pad %{{.*}} low[0] high[15]
// CHECK: transformer.work = {bytes = array<i64: 88>, fixed_bytes = 408 : i64, flops = array<i64: 170>, label = "linear 5x17", shape = "tokens={} K=5 N=17"}
// CHECK: tensor.extract_slice %{{.*}}[0, 0] [%{{.*}}, 17] [1, 1] : tensor<?x32xf32> to tensor<?x17xf32>
func.func @width_17(%x: tensor<?x5xf32>, %w: tensor<17x5xf32>, %b: tensor<17xf32>) -> tensor<?x17xf32> {
  %0 = transformer.linear %x, %w bias(%b : tensor<17xf32>) out_in : tensor<?x5xf32>, tensor<17x5xf32> -> tensor<?x17xf32>
  return %0 : tensor<?x17xf32>
}

// -----

// Rows that are not a whole number of panels: what reads them stays behind the slice.
// CHECK-LABEL: @residual_17(
// CHECK: label = "linear 5x17"
// CHECK: %[[Y:.*]] = tensor.extract_slice
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[Y]]
func.func @residual_17(%x: tensor<?x5xf32>, %w: tensor<17x5xf32>, %r: tensor<?x17xf32>) -> tensor<?x17xf32> {
  %0 = transformer.linear %x, %w out_in : tensor<?x5xf32>, tensor<17x5xf32> -> tensor<?x17xf32>
  %1 = arith.addf %r, %0 : tensor<?x17xf32>
  return %1 : tensor<?x17xf32>
}

// -----

// CHECK-LABEL: @two_users(
// CHECK: label = "linear 5x16"
// CHECK: linalg.generic
// CHECK: transformer.activation relu
func.func @two_users(%x: tensor<?x5xf32>, %w: tensor<16x5xf32>) -> (tensor<?x16xf32>, tensor<?x16xf32>) {
  %0 = transformer.linear %x, %w out_in : tensor<?x5xf32>, tensor<16x5xf32> -> tensor<?x16xf32>
  %1 = transformer.activation relu %0 : tensor<?x16xf32>
  return %0, %1 : tensor<?x16xf32>, tensor<?x16xf32>
}

// -----

// The sum is the epilogue of the first linear and reads the second.
// CHECK-LABEL: @sum_of_linears(
// CHECK-SAME: %[[X:.*]]: tensor<?x5xf32>, %[[W:.*]]: tensor<16x5xf32>, %[[V:.*]]: tensor<16x5xf32>
// CHECK: transformer_cpu.pack_weight out_in ins(%[[V]])
// CHECK: %[[SECOND:.*]] = linalg.generic {{.*}} #transformer_cpu.linear<epilogue>
// CHECK: transformer_cpu.pack_weight out_in ins(%[[W]])
// CHECK: linalg.generic {{.*}} #transformer_cpu.linear<epilogue>
func.func @sum_of_linears(%x: tensor<?x5xf32>, %w: tensor<16x5xf32>, %v: tensor<16x5xf32>) -> tensor<?x16xf32> {
  %0 = transformer.linear %x, %w out_in : tensor<?x5xf32>, tensor<16x5xf32> -> tensor<?x16xf32>
  %1 = transformer.linear %x, %v out_in : tensor<?x5xf32>, tensor<16x5xf32> -> tensor<?x16xf32>
  %2 = arith.addf %0, %1 : tensor<?x16xf32>
  return %2 : tensor<?x16xf32>
}

// -----

// The same product twice is read once.
// CHECK-LABEL: @twice_a_linear(
// CHECK: #transformer_cpu.linear<epilogue>
// CHECK-NEXT: (%[[S:.*]]: f32)
// CHECK-NEXT: arith.addf %[[S]], %[[S]]
func.func @twice_a_linear(%x: tensor<?x5xf32>, %w: tensor<16x5xf32>) -> tensor<?x16xf32> {
  %0 = transformer.linear %x, %w out_in : tensor<?x5xf32>, tensor<16x5xf32> -> tensor<?x16xf32>
  %1 = arith.addf %0, %0 : tensor<?x16xf32>
  return %1 : tensor<?x16xf32>
}
