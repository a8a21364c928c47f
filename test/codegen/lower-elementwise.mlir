// RUN: transformer-opt %s --transformer-cpu-set-target=arch=x86-64-v3 --transformer-cpu-lower-elementwise | FileCheck %s --implicit-check-not=linalg. --implicit-check-not=memref.copy

// CHECK-LABEL: @outside(
// CHECK: scf.forall (%[[I:.*]]) = (0) to (%{{.*}}) step (16) {
// CHECK: transformer_kernel.work "elementwise negf" "rows={} width=8"(%{{.*}}) {bytes = array<i64: 64>, fixed_bytes = 0 : i64, flops = array<i64: 0>}
// CHECK: memref.subview %{{.*}}[%[[I]], 0]
// CHECK: scf.for
// CHECK: scf.for
// CHECK: arith.negf

// CHECK-LABEL: @inside(
// CHECK: scf.forall
// CHECK-NOT: scf.forall
// CHECK: scf.for
// CHECK: return

// CHECK-LABEL: @copy(
// CHECK: scf.forall
// CHECK: transformer_kernel.work "copy" "rows={} width=8"

// A sum over a dimension is not divided.
// CHECK-LABEL: @reduction(
// CHECK-NOT: scf.forall
// CHECK: scf.for
// CHECK: arith.addf
// CHECK: return

// Vectors of columns; what is the same in all of them is spread once; behind the last whole one a mask.
// CHECK-LABEL: @tail(
// CHECK-SAME: %[[F:.*]]: f32
// CHECK: scf.forall
// CHECK: scf.for
// CHECK: scf.for
// CHECK-DAG: %[[X:.*]] = vector.load {{.*}} : memref<?x11xf32, strided<[11, 1], offset: ?>>, vector<8xf32>
// CHECK-DAG: %[[FS:.*]] = vector.broadcast %[[F]] : f32 to vector<8xf32>
// CHECK: %[[P:.*]] = arith.mulf %[[X]], %[[FS]] : vector<8xf32>
// CHECK: arith.addf %[[P]], %{{.*}} : vector<8xf32>
// CHECK: %[[MASK:.*]] = vector.constant_mask [3] : vector<8xi1>
// CHECK: vector.maskedload
// CHECK: vector.maskedstore

// CHECK-LABEL: @scalar(
// CHECK: memref.load
// CHECK: memref.store

func.func @outside(%x: memref<?x8xf32>, %y: memref<?x8xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x8xf32>) outs(%y : memref<?x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  }
  return
}
func.func @inside(%x: memref<4x8xf32>, %y: memref<4x8xf32>) {
  scf.forall (%i) in (4) {
    %a = memref.subview %x[%i, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    %b = memref.subview %y[%i, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    linalg.copy ins(%a : memref<8xf32, strided<[1], offset: ?>>) outs(%b : memref<8xf32, strided<[1], offset: ?>>)
  }
  return
}
func.func @copy(%x: memref<?x8xf32>, %y: memref<?x8xf32>) {
  memref.copy %x, %y : memref<?x8xf32> to memref<?x8xf32>
  return
}
func.func @reduction(%x: memref<8xf32>, %y: memref<f32>) {
  linalg.reduce ins(%x : memref<8xf32>) outs(%y : memref<f32>) dimensions = [0] (%a: f32, %b: f32) {
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  }
  return
}
func.func @tail(%f: f32, %x: memref<?x11xf32>, %y: memref<?x11xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> ()>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%f, %x : f32, memref<?x11xf32>) outs(%y : memref<?x11xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %b, %a : f32
    %1 = arith.addf %0, %c : f32
    linalg.yield %1 : f32
  }
  return
}
func.func @scalar(%x: memref<f32>, %y: memref<f32>) {
  memref.copy %x, %y : memref<f32> to memref<f32>
  return
}
