// DEFINE: %{arch} = haswell
// DEFINE: %{pack} = transformer-opt %s --transformer-to-linalg-on-tensors --transformer-cpu-set-target=arch=%{arch} --transformer-cpu-pack-linear --transformer-pass-destinations
// DEFINE: %{tile} = transformer-opt %s --transformer-to-linalg-on-tensors --transformer-cpu-pack=arch=%{arch} --transformer-cpu-tile
// RUN: %{pack} | FileCheck %s --implicit-check-not=quantize_weight
// RUN: %{tile} | FileCheck %s --check-prefix=TILE
// REDEFINE: %{arch} = haswell/winograd
// RUN: %{pack} | FileCheck %s --implicit-check-not=quantize_weight
// RUN: %{tile} --transformer-cpu-to-buffers | FileCheck %s --check-prefix=FETCH

// Panels hold bfloat16, which becomes float32 before the product; Winograd's form is for float32 alone.
// CHECK-LABEL: @bf16(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x40xf32>, %[[W:[^:]*]]: tensor<70x40xf32>
// CHECK: %[[P:.*]] = transformer_cpu.pack_weight out_in ins(%[[W]]) {{.*}} -> tensor<5x40x16xbf16>
// CHECK: linalg.generic {{.*}} ins(%[[X]], %[[P]] {{.*}} {transformer_cpu.linear = #transformer_cpu.linear<contraction, "bf16">}
// CHECK-NEXT: (%[[XI:.*]]: f32, %[[WI:.*]]: bf16, %[[SUM:.*]]: f32)
// CHECK-NEXT: %[[F:.*]] = arith.extf %[[WI]] : bf16 to f32
// CHECK-NEXT: %[[M:.*]] = arith.mulf %[[XI]], %[[F]]
// CHECK-NEXT: arith.addf %[[SUM]], %[[M]]
// CHECK: fixed_bytes = 5600 : i64

func.func @bf16(%x: tensor<?x40xf32>, %w: tensor<70x40xf32>) -> tensor<?x70xf32> {
  %q = transformer.quantize_weight bf16 %w out_in : tensor<70x40xf32>
  %0 = transformer.linear %x, %q out_in : tensor<?x40xf32>, tensor<70x40xf32> -> tensor<?x70xf32>
  return %0 : tensor<?x70xf32>
}

// Few rows go through four panels at once, a row at a time; the fifth is left over.
// TILE-LABEL: @bf16_parameter(
// TILE: scf.forall
// TILE: scf.if
// TILE: -> (vector<1x4x16xf32>) {
// TILE: panels = 4
// TILE: -> (vector<1x1x16xf32>) {
// TILE: } else {
// TILE: -> (vector<6x1x16xf32>) {
// TILE: arith.extf {{.*}} : vector<16xbf16> to vector<16xf32>

// A row of a panel is half a cache line. Few rows fetch both lines of four k, of the panels behind the
// four that they read; of many rows, which share a panel, a tile fetches one.
// FETCH-LABEL: @bf16_parameter(
// FETCH-COUNT-8: memref.prefetch %{{.*}}[%c{{[4-7]}}, %{{.*}}, %c{{0|32}}]
// FETCH-NOT: memref.prefetch
// FETCH: } else {
// FETCH: memref.prefetch
transformer.parameter @w : tensor<70x40xf32>
func.func @bf16_parameter(%x: tensor<?x40xf32>) -> tensor<?x70xf32> {
  %w = transformer.get_parameter @w : tensor<70x40xf32>
  %q = transformer.quantize_weight bf16 %w out_in : tensor<70x40xf32>
  %0 = transformer.linear %x, %q out_in : tensor<?x40xf32>, tensor<70x40xf32> -> tensor<?x70xf32>
  return %0 : tensor<?x70xf32>
}

// The scales are the epilogue's.
// CHECK-LABEL: @int8(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x40xf32>, %[[W:[^:]*]]: tensor<40x64xf32>
// CHECK: %[[S:.*]] = transformer_cpu.weight_scales int8 in_out ins(%[[W]]) {{.*}} -> tensor<4x1x16xf32>
// CHECK: %[[P:.*]] = transformer_cpu.pack_weight in_out ins(%[[W]]) scales(%[[S]]) {{.*}} -> tensor<4x40x16xi8>
// CHECK: linalg.generic {{.*}} ins(%[[X]], %[[P]] {{.*}} {transformer_cpu.linear = #transformer_cpu.linear<contraction, "int8">}
// CHECK: arith.sitofp %{{.*}} : i8 to f32
// CHECK: linalg.generic {{.*}} ins(%[[S]], {{.*}}#transformer_cpu.linear<epilogue>
// CHECK-NEXT: (%[[SI:.*]]: f32, %[[BI:.*]]: f32, %[[SUM:.*]]: f32)
// CHECK-NEXT: %[[Y:.*]] = arith.mulf %[[SUM]], %[[SI]]
// CHECK-NEXT: arith.addf %[[Y]], %[[BI]]
// TILE-LABEL: @int8(
// TILE: scf.if
// TILE: -> (vector<1x4x16xf32>) {
// TILE: arith.sitofp {{.*}} : vector<16xi8> to vector<16xf32>
// TILE: panels = 4
// TILE: } else {
// TILE: -> (vector<6x1x16xf32>) {
func.func @int8(%x: tensor<?x40xf32>, %w: tensor<40x64xf32>, %b: tensor<64xf32>) -> tensor<?x64xf32> {
  %q = transformer.quantize_weight int8 %w in_out : tensor<40x64xf32>
  %0 = transformer.linear %x, %q bias(%b : tensor<64xf32>) in_out : tensor<?x40xf32>, tensor<40x64xf32> -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// A step is a group of 32, of four words with eight weights each; x carries the inverses of the powers of
// 16 that weights are in place, and what 8 too much in each weight amounts to.
// CHECK-LABEL: @int4(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x40xf32>, %[[W:[^:]*]]: tensor<64x40xf32>
// CHECK: %[[R:.*]] = transformer_cpu.int4_rows ins(%[[X]]) {{.*}} -> tensor<?x2x4x9xf32>
// CHECK: %[[S:.*]] = transformer_cpu.weight_scales int4 out_in ins(%[[W]]) {{.*}} -> tensor<4x2x16xbf16>
// CHECK: %[[P:.*]] = transformer_cpu.pack_weight out_in ins(%[[W]]) scales(%[[S]]) {{.*}} -> tensor<4x2x4x16xi32>
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]
// CHECK-SAME: %[[S]], %[[P]] : {{.*}} {transformer_cpu.linear = #transformer_cpu.linear<contraction, "int4">}
// A word's line is fetched outside of the loop over its weights; few rows fetch those of two panels.
// FETCH-LABEL: @int4(
// FETCH-COUNT-2: memref.prefetch
// FETCH-NOT: memref.prefetch
// FETCH: } else {
// FETCH: memref.prefetch
// FETCH-NOT: memref.prefetch
// FETCH: scf.for %{{.*}} = %c0 to %c7
// TILE-LABEL: @int4(
// TILE: scf.if
// TILE: -> (vector<1x2x16xf32>) {
// TILE: %{{.*}}:2 = scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>) {
// TILE-COUNT-16: vector.fma
// TILE-NOT: vector.fma
// TILE: scf.yield
// TILE-COUNT-2: vector.fma
// TILE: } else {
// TILE: -> (vector<4x1x16xf32>) {
func.func @int4(%x: tensor<?x40xf32>, %w: tensor<64x40xf32>) -> tensor<?x64xf32> {
  %q = transformer.quantize_weight int4 %w out_in : tensor<64x40xf32>
  %0 = transformer.linear %x, %q out_in : tensor<?x40xf32>, tensor<64x40xf32> -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}
