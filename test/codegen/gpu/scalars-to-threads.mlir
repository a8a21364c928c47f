// RUN: transformer-opt %s --transformer-gpu-scalars-to-threads --split-input-file --verify-diagnostics | FileCheck %s

// A run of loads, arithmetic and stores is one thread's; the threads behind it load what it has found.
// CHECK-LABEL: @update(
// CHECK: %[[RATE:.*]] = memref.alloc() : memref<f32>
// CHECK: scf.parallel
// CHECK:   memref.load %arg1[] : memref<f64>
// CHECK:   arith.truncf
// CHECK:   memref.store %{{.*}}, %arg2[]
// CHECK:   memref.store %{{.*}}, %[[RATE]][]
// CHECK: scf.parallel
// CHECK:   memref.load %[[RATE]][]
func.func @update(%x: memref<?xf32>, %rate: memref<f64>, %norm: memref<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %wide = memref.load %rate[] : memref<f64>
  %v = arith.truncf %wide : f64 to f32
  memref.store %v, %norm[] : memref<f32>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %old = memref.load %x[%i] : memref<?xf32>
    %new = arith.mulf %old, %v : f32
    memref.store %new, %x[%i] : memref<?xf32>
  }
  return
}

// -----

// What is counted for sizes and keys stays with the host.
// CHECK-LABEL: @count(
// CHECK-NOT: scf.parallel
// CHECK: scf.for
// CHECK: memref.load %arg1[] : memref<i64>
// CHECK: scf.parallel
func.func @count(%mask: memref<?xi64>, %key: memref<i64>, %y: memref<?xi64>) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %mask, %c0 : memref<?xi64>
  %tokens = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %c0) -> index {
    %v = memref.load %mask[%i] : memref<?xi64>
    %k = arith.index_cast %v : i64 to index
    %next = arith.addi %sum, %k : index
    scf.yield %next : index
  }
  %k = memref.load %key[] : memref<i64>
  scf.parallel (%i) = (%c0) to (%tokens) step (%c1) {
    memref.store %k, %y[%i] : memref<?xi64>
  }
  return %tokens : index
}

// -----

// A loop that writes is a thread's, with what it alone reads.
// CHECK-LABEL: @pack(
// CHECK-NEXT: arith.constant
// CHECK: scf.parallel
// CHECK:   memref.load %arg0[%c0
// CHECK:   scf.for
func.func @pack(%mask: memref<?xi64>, %y: memref<?xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %mask, %c0 : memref<?xi64>
  %first = memref.load %mask[%c0] : memref<?xi64>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %first, %y[%i] : memref<?xi64>
  }
  return
}

// -----

func.func @returned(%x: memref<f32>) -> f32 {
  %v = memref.load %x[] : memref<f32>
  // expected-error @below {{needs a number of the device's memory on the host}}
  return %v : f32
}

// -----

func.func @size(%x: memref<4xindex>) -> index {
  %c0 = arith.constant 0 : index
  %y = memref.alloc() : memref<4xindex>
  memref.copy %x, %y : memref<4xindex> to memref<4xindex>
  // expected-error @below {{of the host reads the device's memory}}
  %v = memref.load %y[%c0] : memref<4xindex>
  return %v : index
}
