// RUN: transformer-opt %s --transformer-gpu-host-inputs | FileCheck %s

// The host reads two inputs, one of them twice; the states and outputs between are none, and what threads read stays
// where it is.
// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[A:[^:]*]]: memref<?x?xi64>, %[[S:[^:]*]]: memref<?xi64> {transformer.state = "s"},
// CHECK-SAME: %{{[^:]*}}: memref<i64>, %[[Y:[^:]*]]: memref<?xi64> {transformer.output},
// CHECK-SAME: %[[SECOND:[^:]*]]: memref<i64> {transformer.host_input = 1 : index},
// CHECK-SAME: %[[FIRST:[^:]*]]: memref<?x?xi64> {transformer.host_input = 0 : index})
func.func @forward(%a: memref<?x?xi64>, %s: memref<?xi64> {transformer.state = "s"}, %seed: memref<i64>,
                   %y: memref<?xi64> {transformer.output}) -> (i64, i64, i64, i64) attributes {transformer.entry} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  // CHECK: memref.load %[[SECOND]][]
  // CHECK: memref.load %[[FIRST]][
  // CHECK: memref.load %[[SECOND]][]
  // CHECK: memref.load %[[S]][
  %0 = memref.load %seed[] : memref<i64>
  %1 = memref.load %a[%zero, %zero] : memref<?x?xi64>
  %2 = memref.load %seed[] : memref<i64>
  %3 = memref.load %s[%zero] : memref<?xi64>
  scf.parallel (%i) = (%zero) to (%one) step (%one) {
    // CHECK: memref.load %[[A]][
    %4 = memref.load %a[%i, %i] : memref<?x?xi64>
    memref.store %4, %y[%i] : memref<?xi64>
  }
  return %0, %1, %2, %3 : i64, i64, i64, i64
}

// CHECK-LABEL: func.func @layer(
// CHECK-SAME: %[[M:[^:]*]]: memref<?xi64>)
// CHECK: memref.load %[[M]][
func.func @layer(%mask: memref<?xi64>) -> i64 {
  %zero = arith.constant 0 : index
  %0 = memref.load %mask[%zero] : memref<?xi64>
  return %0 : i64
}
