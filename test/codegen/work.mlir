// RUN: transformer-opt %s --canonicalize | FileCheck %s

// A loop of one task is no loop any more, and what it said goes with it.
// CHECK-LABEL: @one_task(
// CHECK-NOT: scf.forall
// CHECK-NOT: transformer_kernel.work
// CHECK: memref.store
func.func @one_task(%x: memref<8xf32>, %n: index) {
  %one = arith.constant 1.0 : f32
  scf.forall (%i) in (1) {
    transformer_kernel.work "once" "rows={}"(%n) {flops = array<i64: 0>, bytes = array<i64: 4>, fixed_bytes = 0 : i64}
    memref.store %one, %x[%i] : memref<8xf32>
  }
  return
}

// CHECK-LABEL: @tasks(
// CHECK: scf.forall
// CHECK-NEXT: transformer_kernel.work "often" "rows={} width=2"(%{{.*}}) {bytes = array<i64: 8>, fixed_bytes = 0 : i64, flops = array<i64: 0>, layer = "head"}
func.func @tasks(%x: memref<?xf32>, %n: index) {
  %one = arith.constant 1.0 : f32
  scf.forall (%i) in (%n) {
    transformer_kernel.work "often" "rows={} width=2"(%n) {flops = array<i64: 0>, bytes = array<i64: 8>, fixed_bytes = 0 : i64, layer = "head"}
    memref.store %one, %x[%i] : memref<?xf32>
  }
  return
}
