// RUN: transformer-opt %s --transformer-cpu-set-target=arch=haswell --transformer-cpu-tile-linear --transformer-cpu-vectorize-linear | FileCheck %s

// A panel of 4096 x 16 does not stay in a cache of 512 KiB beside the rows: k goes in blocks of
// 768. All but the last add to zeroed sums in memory, the last (256) goes into the epilogue.
// CHECK-LABEL: @long(
// CHECK: scf.forall
// CHECK: vector.transfer_write %cst{{.*}} : vector<1x1x16xf32>, tensor<?x1x16xf32>
// CHECK: scf.for %[[BLOCK:[^ ]*]] = %c0 to %c3840 step %c768
// CHECK: scf.for {{.*}} step %c6 iter_args
// CHECK: vector.transfer_read {{.*}} vector<6x1x16xf32>
// CHECK: %[[END:.*]] = arith.addi %[[BLOCK]], %c768
// CHECK: scf.for %[[K:[^ ]*]] = %[[BLOCK]] to %[[END]] step %c1 {{.*}} -> (vector<6x1x16xf32>) {
// CHECK: vector.transfer_read %{{.*}}[%{{.*}}, %[[K]], %c0]
// CHECK-COUNT-6: vector.fma {{.*}} : vector<16xf32>
// CHECK: {transformer_cpu.linear = #transformer_cpu.linear<loop, "f32", steps = 768>}
// CHECK: vector.transfer_write {{.*}} : vector<6x1x16xf32>, tensor<?x1x16xf32>
// CHECK: -> (vector<4x1x16xf32>) {
// CHECK: -> (vector<2x1x16xf32>) {
// CHECK: -> (vector<1x1x16xf32>) {
// CHECK: {transformer_cpu.linear = #transformer_cpu.linear<loop, "f32", steps = 768>}
// CHECK: scf.for {{.*}} step %c6 iter_args
// CHECK: scf.for {{.*}} = %c0 to %c256 step %c1 {{.*}} -> (vector<6x1x16xf32>) {
// CHECK: {transformer_cpu.linear = #transformer_cpu.linear<loop, "f32", steps = 256>}
// CHECK: arith.addf {{.*}} : vector<6x1x16xf32>
// CHECK-NOT: linalg.
// CHECK: return

func.func @long(%x: tensor<?x4096xf32>, %w: tensor<2x4096x16xf32>, %b: tensor<2x16xf32>, %y: tensor<?x2x16xf32>) -> tensor<?x2x16xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%y : tensor<?x2x16xf32>) -> tensor<?x2x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(m, p, j, k) -> (m, k)>, affine_map<(m, p, j, k) -> (p, k, j)>, affine_map<(m, p, j, k) -> (m, p, j)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<?x4096xf32>, tensor<2x4096x16xf32>) outs(%0 : tensor<?x2x16xf32>) attrs = {transformer_cpu.linear = #transformer_cpu.linear<contraction, "f32">} {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %3 = arith.mulf %a, %c : f32
    %4 = arith.addf %o, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<?x2x16xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(m, p, j) -> (p, j)>, affine_map<(m, p, j) -> (m, p, j)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%b : tensor<2x16xf32>) outs(%1 : tensor<?x2x16xf32>) attrs = {transformer_cpu.linear = #transformer_cpu.linear<epilogue>} {
  ^bb0(%c: f32, %o: f32):
    %3 = arith.addf %o, %c : f32
    linalg.yield %3 : f32
  } -> tensor<?x2x16xf32>
  return %2 : tensor<?x2x16xf32>
}
