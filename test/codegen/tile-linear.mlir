// RUN: transformer-opt %s --transformer-cpu-set-target=arch=haswell --transformer-cpu-tile-linear --transformer-cpu-vectorize-linear | FileCheck %s
// RUN: transformer-opt %s --transformer-cpu-set-target=arch=x86-64-v4 --transformer-cpu-tile-linear --transformer-cpu-vectorize-linear | FileCheck %s --check-prefix=V4
// RUN: transformer-opt %s --transformer-cpu-set-target=arch=aarch64 --transformer-cpu-tile-linear --transformer-cpu-vectorize-linear | FileCheck %s --check-prefixes=FOUR,NEON
// RUN: transformer-opt %s --transformer-cpu-set-target=arch=x86-64-v2 --transformer-cpu-tile-linear --transformer-cpu-vectorize-linear | FileCheck %s --check-prefixes=FOUR,V2
// RUN: not transformer-opt %s --transformer-cpu-set-target=arch=z80 --transformer-cpu-tile-linear 2>&1 | FileCheck %s --check-prefix=ARCH
// RUN: not transformer-opt %s --transformer-cpu-set-target=arch=haswell/big --transformer-cpu-tile-linear 2>&1 | FileCheck %s --check-prefix=CACHES

// Tasks, in them tiles of six rows and, for the rows left over, of 4, 2 and 1.
// If two or three are left over, the last tile of six is taken apart for tiles of four.
// The accumulator is carried by the loop over k, one fused multiply-add a row.
// CHECK-LABEL: @linear(
// CHECK: %[[ROWS:.*]] = tensor.dim %{{.*}}, %c0
// CHECK: scf.forall
// CHECK: transformer_kernel.work "linear 5x32" "tokens={} K=5 N=32"(%[[ROWS]]) {bytes = array<i64: 148>, fixed_bytes = 768 : i64, flops = array<i64: 320>}
// CHECK: %[[OVER:.*]] = arith.remui %[[TASK:.*]], %c6
// CHECK: %[[FROM2:.*]] = arith.subi %[[OVER]], %c2
// CHECK: %[[FEW:.*]] = arith.cmpi ult, %[[FROM2]], %c2
// CHECK: %[[TAKEN:.*]] = arith.select %[[FEW]], %c6, %c0
// CHECK: %[[ALL:.*]] = arith.subi %[[TASK]], %[[OVER]]
// CHECK: %[[LAST:.*]] = arith.minui %[[ALL]], %[[TAKEN]]
// CHECK: %[[FULL:.*]] = arith.subi %[[ALL]], %[[LAST]]
// CHECK: scf.for {{.*}} = %c0 to %[[FULL]] step %c6 iter_args
// CHECK: scf.for {{.*}} = %c0 to %c5 step %c1 {{.*}} -> (vector<6x1x16xf32>) {
// CHECK: vector.transfer_read %{{.*}} : tensor<2x5x16xf32>, vector<16xf32>
// CHECK-COUNT-6: vector.fma {{.*}} : vector<16xf32>
// CHECK-NOT: vector.fma
// CHECK: {transformer_cpu.linear = #transformer_cpu.linear<loop, "f32", steps = 5>}
// CHECK: arith.addf {{.*}} : vector<6x1x16xf32>
// CHECK: vector.transfer_write {{.*}} : vector<6x1x16xf32>, tensor<?x2x16xf32>
// CHECK: scf.for {{.*}} = %[[FULL]] to %[[TASK]] step %c12 iter_args
// CHECK: scf.for {{.*}} step %c4 iter_args
// CHECK: -> (vector<4x1x16xf32>) {
// CHECK-COUNT-4: vector.fma
// CHECK-NOT: vector.fma
// CHECK: -> (vector<2x1x16xf32>) {
// CHECK-COUNT-2: vector.fma
// CHECK-NOT: vector.fma
// CHECK: -> (vector<1x1x16xf32>) {
// CHECK: vector.fma
// CHECK-NOT: vector.fma
// CHECK-NOT: linalg.
// CHECK: return

// CHECK-LABEL: @wide(
// V4-LABEL: @wide(
// V4: -> (vector<8x1x32xf32>) {
// V4-COUNT-8: vector.fma {{.*}} : vector<32xf32>
// V4-NOT: vector.fma
// V4: -> (vector<4x1x32xf32>) {
// V4: -> (vector<2x1x32xf32>) {
// V4: -> (vector<1x1x32xf32>) {

// Four lanes: 32 registers hold eight rows, 16 of them with products four.
// FOUR-LABEL: @narrow(
// NEON: -> (vector<8x1x8xf32>) {
// NEON-COUNT-8: vector.fma {{.*}} : vector<8xf32>
// NEON-NOT: vector.fma
// FOUR: -> (vector<4x1x8xf32>) {
// V2-COUNT-4: vector.fma {{.*}} : vector<8xf32>
// V2-NOT: vector.fma
// FOUR: -> (vector<2x1x8xf32>) {
// FOUR: -> (vector<1x1x8xf32>) {
// FOUR: transformer_cpu.linear<loop

// CACHES: error: --arch haswell/big: expected native, winograd, no-winograd or no-amx behind haswell/, found big
// ARCH: error: --arch z80: expected native, x86-64, x86-64-v2, x86-64-v3, x86-64-v4, aarch64 or an x86-64 CPU that LLVM knows

func.func @linear(%x: tensor<?x5xf32>, %w: tensor<2x5x16xf32>, %b: tensor<2x16xf32>, %y: tensor<?x2x16xf32>) -> tensor<?x2x16xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%y : tensor<?x2x16xf32>) -> tensor<?x2x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(m, p, j, k) -> (m, k)>, affine_map<(m, p, j, k) -> (p, k, j)>, affine_map<(m, p, j, k) -> (m, p, j)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<?x5xf32>, tensor<2x5x16xf32>) outs(%0 : tensor<?x2x16xf32>) attrs = {transformer_cpu.linear = #transformer_cpu.linear<contraction, "f32">} {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %3 = arith.mulf %a, %c : f32
    %4 = arith.addf %o, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<?x2x16xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(m, p, j) -> (p, j)>, affine_map<(m, p, j) -> (m, p, j)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%b : tensor<2x16xf32>) outs(%1 : tensor<?x2x16xf32>) attrs = {transformer_cpu.linear = #transformer_cpu.linear<epilogue>, transformer.work = {bytes = array<i64: 148>, fixed_bytes = 768 : i64, flops = array<i64: 320>, label = "linear 5x32", shape = "tokens={} K=5 N=32"}} {
  ^bb0(%c: f32, %o: f32):
    %3 = arith.addf %o, %c : f32
    linalg.yield %3 : f32
  } -> tensor<?x2x16xf32>
  return %2 : tensor<?x2x16xf32>
}

func.func @wide(%x: tensor<?x5xf32>, %w: tensor<2x5x32xf32>, %b: tensor<2x32xf32>, %y: tensor<?x2x32xf32>) -> tensor<?x2x32xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%y : tensor<?x2x32xf32>) -> tensor<?x2x32xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(m, p, j, k) -> (m, k)>, affine_map<(m, p, j, k) -> (p, k, j)>, affine_map<(m, p, j, k) -> (m, p, j)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<?x5xf32>, tensor<2x5x32xf32>) outs(%0 : tensor<?x2x32xf32>) attrs = {transformer_cpu.linear = #transformer_cpu.linear<contraction, "f32">} {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %3 = arith.mulf %a, %c : f32
    %4 = arith.addf %o, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<?x2x32xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(m, p, j) -> (p, j)>, affine_map<(m, p, j) -> (m, p, j)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%b : tensor<2x32xf32>) outs(%1 : tensor<?x2x32xf32>) attrs = {transformer_cpu.linear = #transformer_cpu.linear<epilogue>} {
  ^bb0(%c: f32, %o: f32):
    %3 = arith.addf %o, %c : f32
    linalg.yield %3 : f32
  } -> tensor<?x2x32xf32>
  return %2 : tensor<?x2x32xf32>
}

func.func @narrow(%x: tensor<?x5xf32>, %w: tensor<2x5x8xf32>, %b: tensor<2x8xf32>, %y: tensor<?x2x8xf32>) -> tensor<?x2x8xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%y : tensor<?x2x8xf32>) -> tensor<?x2x8xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(m, p, j, k) -> (m, k)>, affine_map<(m, p, j, k) -> (p, k, j)>, affine_map<(m, p, j, k) -> (m, p, j)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<?x5xf32>, tensor<2x5x8xf32>) outs(%0 : tensor<?x2x8xf32>) attrs = {transformer_cpu.linear = #transformer_cpu.linear<contraction, "f32">} {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %3 = arith.mulf %a, %c : f32
    %4 = arith.addf %o, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<?x2x8xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(m, p, j) -> (p, j)>, affine_map<(m, p, j) -> (m, p, j)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%b : tensor<2x8xf32>) outs(%1 : tensor<?x2x8xf32>) attrs = {transformer_cpu.linear = #transformer_cpu.linear<epilogue>} {
  ^bb0(%c: f32, %o: f32):
    %3 = arith.addf %o, %c : f32
    linalg.yield %3 : f32
  } -> tensor<?x2x8xf32>
  return %2 : tensor<?x2x8xf32>
}
