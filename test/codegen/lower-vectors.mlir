// RUN: transformer-opt %s --transformer-cpu-set-target=arch=x86-64-v3 --transformer-cpu-lower-vectors | FileCheck %s

// Each row of the accumulator is carried on its own; four steps of k at a time,
// the ninth behind the loop; rows are added in the order of k.
// CHECK-LABEL: @k_loop(
// CHECK: %[[L:.*]]:2 = scf.for {{.*}} = %c0 to %c8 step %c4 iter_args(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}) -> (vector<16xf32>, vector<16xf32>) {
// CHECK: %[[A1:.*]] = vector.fma %{{.*}}, %[[ROW:.*]], %[[A]]
// CHECK: %[[B1:.*]] = vector.fma %{{.*}}, %[[ROW]], %[[B]]
// CHECK: %[[A2:.*]] = vector.fma %{{.*}}, %{{.*}}, %[[A1]]
// CHECK: vector.fma %{{.*}}, %{{.*}}, %[[B1]]
// CHECK: vector.fma %{{.*}}, %{{.*}}, %[[A2]]
// CHECK-COUNT-3: vector.fma
// CHECK-NOT: vector.fma
// CHECK: scf.yield %{{.*}}, %{{.*}} : vector<16xf32>, vector<16xf32>
// CHECK: {transformer_cpu.linear = #transformer_cpu.linear<loop, "f32", steps = 9>}
// CHECK: vector.fma %{{.*}}, %{{.*}}, %[[L]]#0
// CHECK: vector.fma %{{.*}}, %{{.*}}, %[[L]]#1
// CHECK-NOT: vector.fma
// CHECK: return

// CHECK-LABEL: @permuted(
// CHECK-NOT: permutation_map
// CHECK: return

// Only loops over k are touched.
// CHECK-LABEL: @other_loop(
// CHECK: scf.for {{.*}} = %c0 to %c9 step %c1 iter_args(%{{.*}} = %{{.*}}) -> (vector<2x16xf32>) {

func.func @k_loop(%x: memref<2x9xf32>, %w: memref<9x16xf32>, %y: memref<2x1x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %pad = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<2x1x16xf32>
  %0 = scf.for %k = %c0 to %c9 step %c1 iter_args(%acc = %zero) -> (vector<2x1x16xf32>) {
    %row = vector.transfer_read %w[%k, %c0], %pad {in_bounds = [true]} : memref<9x16xf32>, vector<16xf32>
    %a = memref.load %x[%c0, %k] : memref<2x9xf32>
    %b = memref.load %x[%c1, %k] : memref<2x9xf32>
    %1 = vector.broadcast %a : f32 to vector<16xf32>
    %2 = vector.extract %acc[0, 0] : vector<16xf32> from vector<2x1x16xf32>
    %3 = vector.fma %1, %row, %2 : vector<16xf32>
    %4 = vector.broadcast %b : f32 to vector<16xf32>
    %5 = vector.extract %acc[1, 0] : vector<16xf32> from vector<2x1x16xf32>
    %6 = vector.fma %4, %row, %5 : vector<16xf32>
    %7 = vector.insert %3, %acc [0, 0] : vector<16xf32> into vector<2x1x16xf32>
    %8 = vector.insert %6, %7 [1, 0] : vector<16xf32> into vector<2x1x16xf32>
    scf.yield %8 : vector<2x1x16xf32>
  } {transformer_cpu.linear = #transformer_cpu.linear<loop, "f32", steps = 9>}
  vector.transfer_write %0, %y[%c0, %c0, %c0] {in_bounds = [true, true, true]} : vector<2x1x16xf32>, memref<2x1x16xf32>
  return
}

func.func @permuted(%b: memref<2x16xf32>) -> vector<4x1x16xf32> {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f32
  %0 = vector.transfer_read %b[%c0, %c0], %pad {in_bounds = [true, true, true], permutation_map = affine_map<(d0, d1) -> (0, d0, d1)>} : memref<2x16xf32>, vector<4x1x16xf32>
  return %0 : vector<4x1x16xf32>
}

func.func @other_loop(%v: vector<2x16xf32>) -> vector<2x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %0 = scf.for %k = %c0 to %c9 step %c1 iter_args(%acc = %v) -> (vector<2x16xf32>) {
    %1 = arith.addf %acc, %v : vector<2x16xf32>
    scf.yield %1 : vector<2x16xf32>
  }
  return %0 : vector<2x16xf32>
}
