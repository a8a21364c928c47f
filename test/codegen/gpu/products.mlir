// RUN: transformer-opt %s --transformer-gpu-emit-kernels | FileCheck %s

#xs = affine_map<(d0, d1, d2) -> (d0, d2)>
#ys = affine_map<(d0, d1, d2) -> (d0, d1)>

// Sums are made in registers, eight at a time; an operand may lie in another way than a matrix.
// CHECK-LABEL: @product(
// CHECK: scf.parallel
// CHECK: arith.divui %{{.*}}, %c2
// CHECK: memref.load %{{.*}} : memref<5x17xi8>
// CHECK-NOT: linalg.generic
func.func @product(%x: memref<?x33xf32>, %q: memref<5x17xi8>, %y: memref<?x5xf32>) {
  linalg.generic {indexing_maps = [#xs, affine_map<(d0, d1, d2) -> (d1, d2 floordiv 2)>, #ys], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%x, %q : memref<?x33xf32>, memref<5x17xi8>) outs(%y : memref<?x5xf32>) {
  ^bb0(%a: f32, %b: i8, %sum: f32):
    %r = arith.sitofp %b : i8 to f32
    %p = arith.mulf %a, %r : f32
    %next = arith.addf %sum, %p : f32
    linalg.yield %next : f32
  }
  return
}

// Of tokens there are as many as there are: blocks of 64 are summed from zero.
// CHECK-LABEL: @weight_gradient(
// CHECK: scf.parallel
// CHECK: arith.divui %{{.*}}, %c64
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NOT: linalg.matmul
func.func @weight_gradient(%dy: memref<?x5xf32>, %x: memref<?x33xf32>, %y: memref<5x33xf32>) {
  linalg.matmul indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d2, d1)>, #ys]
    ins(%dy, %x : memref<?x5xf32>, memref<?x33xf32>) outs(%y : memref<5x33xf32>)
  return
}
