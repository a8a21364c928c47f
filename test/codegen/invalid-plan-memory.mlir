// RUN: transformer-opt %s --transformer-plan-memory -verify-diagnostics

func.func @in_a_loop(%n: index, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @below {{inside a loop cannot be given a place in the arena}}
    %a = memref.alloc(%i) : memref<?xf32>
    memref.copy %a, %y : memref<?xf32> to memref<?xf32>
  }
  return
}
