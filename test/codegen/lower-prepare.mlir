// RUN: transformer-opt %s --transformer-cpu-separate-weights --transformer-lower-prepare | FileCheck %s

// Merged projections that fall into whole panels: the kernel takes them one by one.
// CHECK-LABEL: func.func private @merged(
// CHECK-SAME: %[[Q:.*]]: tensor<32x5xf32>, %[[K:.*]]: tensor<17x5xf32>, %[[Y:.*]]: tensor<4x5x16xf32>) -> tensor<4x5x16xf32>
// CHECK-NEXT: %[[P:.*]] = transformer_cpu.pack_weight out_in ins(%[[Q]], %[[K]]) outs(%[[Y]])
// CHECK-NEXT: return %[[P]]

// Others stand behind each other in one buffer first.
// CHECK-LABEL: func.func private @straddling(
// CHECK-SAME: %[[Q:.*]]: tensor<20x5xf32>, %[[K:.*]]: tensor<12x5xf32>, %[[Y:.*]]: tensor<2x5x16xf32>) -> tensor<2x5x16xf32>
// CHECK: %[[I:.*]] = tensor.insert_slice %[[Q]] into %{{.*}}[0, 0] [20, 5] [1, 1]
// CHECK: %[[W:.*]] = tensor.insert_slice %[[K]] into %[[I]][20, 0] [12, 5] [1, 1]
// CHECK: transformer_cpu.pack_weight out_in ins(%[[W]]) outs(%[[Y]])

// CHECK-LABEL: func.func private @conv1d(
// CHECK-SAME: %[[C:.*]]: tensor<5x32xf32>, %[[Y:.*]]: tensor<2x5x16xf32>)
// CHECK-NEXT: transformer_cpu.pack_weight in_out ins(%[[C]]) outs(%[[Y]])

// Merged weights are looked at one by one.
// CHECK-LABEL: func.func private @scales(
// CHECK-SAME: %[[Q:.*]]: tensor<20x5xf32>, %[[K:.*]]: tensor<12x5xf32>, %[[Y:.*]]: tensor<5xf32>)
// CHECK-NEXT: transformer_cpu.winograd_scales out_in ins(%[[Q]], %[[K]]) outs(%[[Y]])

// CHECK-LABEL: func.func private @sinusoids(
// CHECK-SAME: %[[Y:.*]]: tensor<7x5xf32>) -> tensor<7x5xf32>
// CHECK: %[[T:.*]] = transformer_kernel.sinusoidal_table halves outs(%[[Y]])
// CHECK: return %[[T]]

// CHECK-LABEL: func.func private @bias(
// CHECK-SAME: %{{.*}}: tensor<17xf32>, %[[Y:.*]]: tensor<2x16xf32>)
// CHECK: linalg.copy {{.*}} outs(%[[Y]] : tensor<2x16xf32>)

// Not a prepare function.
// CHECK-LABEL: func.func private @other(
// CHECK-SAME: %{{.*}}: tensor<20x5xf32>, %{{.*}}: tensor<12x5xf32>) -> tensor<32x5xf32>
// CHECK: tensor.concat

transformer.parameter @q : tensor<20x5xf32>
transformer.parameter @q32 : tensor<32x5xf32>
transformer.parameter @k : tensor<12x5xf32>
transformer.parameter @o : tensor<17x5xf32>
transformer.parameter @c : tensor<5x32xf32>
transformer.parameter @b : tensor<17xf32>
transformer.prepared @qo.prepared = @merged(@q32, @o) : tensor<4x5x16xf32>
transformer.prepared @qk.prepared = @straddling(@q, @k) : tensor<2x5x16xf32>
transformer.prepared @qk.scales = @scales(@q, @k) : tensor<5xf32>
transformer.prepared @c.prepared = @conv1d(@c) : tensor<2x5x16xf32>
transformer.prepared @table = @sinusoids() : tensor<7x5xf32>
transformer.prepared @b.prepared = @bias(@b) : tensor<2x16xf32>
func.func private @merged(%q: tensor<32x5xf32>, %k: tensor<17x5xf32>) -> tensor<4x5x16xf32> {
  %1 = tensor.concat dim(0) %q, %k : (tensor<32x5xf32>, tensor<17x5xf32>) -> tensor<49x5xf32>
  %2 = tensor.empty() : tensor<4x5x16xf32>
  %3 = transformer_cpu.pack_weight out_in ins(%1) outs(%2) : (tensor<49x5xf32>, tensor<4x5x16xf32>) -> tensor<4x5x16xf32>
  return %3 : tensor<4x5x16xf32>
}
func.func private @straddling(%q: tensor<20x5xf32>, %k: tensor<12x5xf32>) -> tensor<2x5x16xf32> {
  %0 = tensor.concat dim(0) %q, %k : (tensor<20x5xf32>, tensor<12x5xf32>) -> tensor<32x5xf32>
  %1 = tensor.empty() : tensor<2x5x16xf32>
  %2 = transformer_cpu.pack_weight out_in ins(%0) outs(%1) : (tensor<32x5xf32>, tensor<2x5x16xf32>) -> tensor<2x5x16xf32>
  return %2 : tensor<2x5x16xf32>
}
func.func private @conv1d(%c: tensor<5x32xf32>) -> tensor<2x5x16xf32> {
  %0 = tensor.empty() : tensor<2x5x16xf32>
  %1 = transformer_cpu.pack_weight in_out ins(%c) outs(%0) : (tensor<5x32xf32>, tensor<2x5x16xf32>) -> tensor<2x5x16xf32>
  return %1 : tensor<2x5x16xf32>
}
func.func private @scales(%q: tensor<20x5xf32>, %k: tensor<12x5xf32>) -> tensor<5xf32> {
  %w = tensor.concat dim(0) %q, %k : (tensor<20x5xf32>, tensor<12x5xf32>) -> tensor<32x5xf32>
  %0 = tensor.empty() : tensor<5xf32>
  %1 = transformer_cpu.winograd_scales out_in ins(%w) outs(%0) : (tensor<32x5xf32>, tensor<5xf32>) -> tensor<5xf32>
  return %1 : tensor<5xf32>
}
func.func private @sinusoids() -> tensor<7x5xf32> {
  %0 = transformer.sinusoidal_table halves : tensor<7x5xf32>
  return %0 : tensor<7x5xf32>
}
func.func private @bias(%b: tensor<17xf32>) -> tensor<2x16xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.pad %b low[0] high[15] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<17xf32> to tensor<32xf32>
  %1 = tensor.expand_shape %0 [[0, 1]] output_shape [2, 16] : tensor<32xf32> into tensor<2x16xf32>
  return %1 : tensor<2x16xf32>
}
func.func private @other(%q: tensor<20x5xf32>, %k: tensor<12x5xf32>) -> tensor<32x5xf32> {
  %0 = tensor.concat dim(0) %q, %k : (tensor<20x5xf32>, tensor<12x5xf32>) -> tensor<32x5xf32>
  return %0 : tensor<32x5xf32>
}
