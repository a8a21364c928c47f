// DEFINE: %{arch} = znver4
// DEFINE: %{pack} = transformer-opt %s --transformer-to-linalg-on-tensors --transformer-cpu-set-target=arch=%{arch} --transformer-cpu-pack-linear
// DEFINE: %{tile} = %{pack} --canonicalize --transformer-cpu-tile
// REDEFINE: %{arch} = znver4/winograd
// RUN: %{pack} | FileCheck %s
// RUN: %{tile} | FileCheck %s --check-prefixes=TILE,WIDE
// REDEFINE: %{arch} = x86-64-v3/winograd
// RUN: %{tile} | FileCheck %s --check-prefixes=TILE,NARROW
// REDEFINE: %{arch} = znver4
// RUN: %{pack} | FileCheck %s --check-prefix=SHORT --implicit-check-not=winograd_rows

// Seven k are two steps behind the one that corrects. x and the panels are read at the six places of
// a step, the scales of the columns at the first place of step 0.
// CHECK-DAG: #[[X0:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d3, 0)>
// CHECK-DAG: #[[X5:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d3, 5)>
// CHECK-DAG: #[[W0:.*]] = affine_map<(d0, d1, d2, d3) -> (d1, d3, 0, d2)>
// CHECK-DAG: #[[W5:.*]] = affine_map<(d0, d1, d2, d3) -> (d1, d3, 5, d2)>
// CHECK-DAG: #[[ROW:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[COLUMN:.*]] = affine_map<(d0, d1, d2) -> (d1, 0, 0, d2)>
// CHECK-LABEL: @linear(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x7xf32>, %[[W:[^:]*]]: tensor<32x7xf32>
// CHECK: %[[T:.*]] = transformer_cpu.winograd_scales out_in ins(%[[W]]) outs({{.*}}) : (tensor<32x7xf32>, tensor<7xf32>)
// CHECK: %[[R:.*]]:2 = transformer_cpu.winograd_rows ins(%[[X]], %[[T]]) outs({{.*}}) : (tensor<?x7xf32>, tensor<7xf32>, tensor<?x3x6xf32>, tensor<?x16xf32>)
// CHECK: %[[PANELS:.*]] = transformer_cpu.pack_weight out_in ins(%[[W]]) scales(%[[T]]) outs({{.*}}) : (tensor<32x7xf32>, tensor<7xf32>, tensor<2x3x6x16xf32>)
// CHECK: %[[SUMS:.*]] = linalg.generic {indexing_maps = [#[[X0]], {{.*}}, #[[X5]], #[[W0]], {{.*}}, #[[W5]], #{{.*}}], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
// CHECK-SAME: ins(%[[R]]#0, {{.*}}, %[[PANELS]] : {{.*}} {transformer_cpu.linear = #transformer_cpu.linear<contraction, "winograd">}
// CHECK-NEXT: (%[[XA:.*]]: f32, %[[XB:.*]]: f32, %[[XC:.*]]: f32, %[[XD:.*]]: f32, %[[XE:.*]]: f32, %[[XF:.*]]: f32, %[[WA:.*]]: f32, %[[WB:.*]]: f32, %[[WC:.*]]: f32, %[[WD:.*]]: f32, %[[WE:.*]]: f32, %[[WF:.*]]: f32, %[[S:.*]]: f32)
// CHECK-DAG: %[[BA:.*]] = arith.addf %[[WB]], %[[XA]]
// CHECK-DAG: %[[AB:.*]] = arith.addf %[[WA]], %[[XB]]
// CHECK: %[[M1:.*]] = arith.mulf %[[BA]], %[[AB]]
// CHECK: %[[S1:.*]] = arith.addf %[[S]], %[[M1]]
// CHECK: %[[M2:.*]] = arith.mulf %[[XC]], %[[WC]]
// CHECK: %[[S2:.*]] = arith.addf %[[S1]], %[[M2]]
// CHECK-DAG: %[[ED:.*]] = arith.subf %[[WE]], %[[XD]]
// CHECK-DAG: %[[DE:.*]] = arith.subf %[[WD]], %[[XE]]
// CHECK: %[[M3:.*]] = arith.mulf %[[ED]], %[[DE]]
// CHECK: %[[S3:.*]] = arith.subf %[[S2]], %[[M3]]
// CHECK: %[[M4:.*]] = arith.mulf %[[XF]], %[[WF]]
// CHECK: %[[S4:.*]] = arith.addf %[[S3]], %[[M4]]
// CHECK: linalg.yield %[[S4]]
// CHECK: linalg.generic {indexing_maps = [#[[ROW]], #[[COLUMN]], {{.*}}ins(%[[R]]#1, %[[PANELS]], {{.*}} outs(%[[SUMS]] {{.*}}#transformer_cpu.linear<epilogue>
// CHECK-NEXT: (%[[RS:.*]]: f32, %[[CS:.*]]: f32, %[[B:.*]]: f32, %[[SUM:.*]]: f32)
// CHECK-NEXT: %[[SCALE:.*]] = arith.mulf %[[RS]], %[[CS]]
// CHECK-NEXT: %[[Y:.*]] = arith.mulf %[[SUM]], %[[SCALE]]
// CHECK-NEXT: arith.addf %[[Y]], %[[B]]

// By itself only from 128 inputs on.
// SHORT-LABEL: @linear(
// SHORT: #transformer_cpu.linear<contraction, "f32">

// A tile of one vector; every step of its loop over k has two pairs and two products a row.
// TILE-LABEL: @linear(
// WIDE: %[[R:.*]] = scf.for {{.*}} = %c0 to %c3 step %c1 {{.*}} -> (vector<16x1x16xf32>) {
// NARROW: %[[R:.*]] = scf.for {{.*}} = %c0 to %c3 step %c1 {{.*}} -> (vector<8x1x8xf32>) {
// WIDE-COUNT-64: vector.fma
// NARROW-COUNT-32: vector.fma
// TILE-NOT: vector.fma
// TILE: {transformer_cpu.linear = #transformer_cpu.linear<loop, "winograd", steps = 3>}
// The scales of the columns, a vector of step 0 for all rows of the tile.
// TILE: vector.transfer_read {{.*}} : tensor<{{2x3x6x16|4x3x6x8}}xf32>, vector<{{16x1x16|8x1x8}}xf32>
// TILE: arith.mulf {{.*}} : vector<{{16x1x16|8x1x8}}xf32>
// WIDE: -> (vector<8x1x16xf32>) {
// TILE: -> (vector<4x1x{{16|8}}xf32>) {
// TILE: -> (vector<2x1x{{16|8}}xf32>) {
// TILE: -> (vector<1x1x{{16|8}}xf32>) {
// TILE-NOT: linalg.
// TILE: return
func.func @linear(%x: tensor<?x7xf32>, %w: tensor<32x7xf32>, %b: tensor<32xf32>) -> tensor<?x32xf32> {
  %0 = transformer.linear %x, %w bias(%b : tensor<32xf32>) out_in : tensor<?x7xf32>, tensor<32x7xf32> -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}

// What is known of x goes into the scales.
// CHECK-LABEL: @estimated(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x7xf32>, %[[S:[^:]*]]: tensor<7xf32>, %[[W:[^:]*]]: tensor<32x7xf32>
// CHECK-NOT: transformer_cpu.estimated
// CHECK: transformer_cpu.winograd_scales out_in ins(%[[W]]) squares(%[[S]])
// CHECK: transformer_cpu.winograd_rows ins(%[[X]],
func.func @estimated(%x: tensor<?x7xf32>, %s: tensor<7xf32>, %w: tensor<32x7xf32>) -> tensor<?x32xf32> {
  %0 = transformer_cpu.estimated %x squares(%s) : tensor<?x7xf32>, tensor<7xf32>
  %1 = transformer.linear %0, %w out_in : tensor<?x7xf32>, tensor<32x7xf32> -> tensor<?x32xf32>
  return %1 : tensor<?x32xf32>
}
