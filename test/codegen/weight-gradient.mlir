// RUN: transformer-opt %s --transformer-cpu-set-target=arch=x86-64-v3 --transformer-cpu-emit-nests | FileCheck %s

// What is larger than the second-level cache goes past it, and is there when the task has ended; sums of blocks of
// tokens wait on the stack.
// CHECK-LABEL: @large(
// CHECK-SAME: %[[C:[^:]*]]: memref<600x256xf32>
// CHECK: %[[WAIT:.*]] = memref.alloca() {{.*}} : memref<{{.*}}x6x16xf32>
// CHECK: vector.load %[[WAIT]]
// CHECK-NOT: vector.load %[[C]]
// CHECK: vector.store %{{.*}}, %[[C]][%{{.*}}] {alignment = 32 : i64, nontemporal = true} : memref<600x256xf32>
// CHECK: vector.store %{{.*}}, %[[WAIT]]
// CHECK: llvm.fence seq_cst
func.func @large(%a: memref<?x600xf32>, %b: memref<?x256xf32>, %c: memref<600x256xf32>, %s: memref<100x?x6xf32>, %p: memref<16x?x16xf32>) {
  transformer_cpu.weight_gradient ins(%a, %b) outs(%c, %s, %p) : (memref<?x600xf32>, memref<?x256xf32>, memref<600x256xf32>, memref<100x?x6xf32>, memref<16x?x16xf32>) -> ()
  return
}

// CHECK-LABEL: @small(
// CHECK-NOT: nontemporal
// CHECK-NOT: llvm.fence
// CHECK: return
func.func @small(%a: memref<?x60xf32>, %b: memref<?x256xf32>, %c: memref<60x256xf32>, %s: memref<10x?x6xf32>, %p: memref<16x?x16xf32>) {
  transformer_cpu.weight_gradient ins(%a, %b) outs(%c, %s, %p) : (memref<?x60xf32>, memref<?x256xf32>, memref<60x256xf32>, memref<10x?x6xf32>, memref<16x?x16xf32>) -> ()
  return
}

// Nor where a row need not begin at a vector's place.
// CHECK-LABEL: @uneven(
// CHECK-NOT: nontemporal
// CHECK: return
func.func @uneven(%a: memref<?x600xf32>, %b: memref<?x260xf32>, %c: memref<600x260xf32>, %s: memref<100x?x6xf32>, %p: memref<17x?x16xf32>) {
  transformer_cpu.weight_gradient ins(%a, %b) outs(%c, %s, %p) : (memref<?x600xf32>, memref<?x260xf32>, memref<600x260xf32>, memref<100x?x6xf32>, memref<17x?x16xf32>) -> ()
  return
}

// What is added to c has to be read with it.
// CHECK-LABEL: @onto(
// CHECK-SAME: %[[C:[^:]*]]: memref<600x256xf32>
// CHECK: %[[BEFORE:.*]] = vector.load %[[C]]
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %[[BEFORE]]
// CHECK: vector.store %[[SUM]], %[[C]]
// CHECK-NOT: nontemporal
// CHECK: return
func.func @onto(%a: memref<?x600xf32>, %b: memref<?x256xf32>, %c: memref<600x256xf32>, %s: memref<100x?x6xf32>, %p: memref<16x?x16xf32>) {
  transformer_cpu.weight_gradient onto ins(%a, %b) outs(%c, %s, %p) : (memref<?x600xf32>, memref<?x256xf32>, memref<600x256xf32>, memref<100x?x6xf32>, memref<16x?x16xf32>) -> ()
  return
}
