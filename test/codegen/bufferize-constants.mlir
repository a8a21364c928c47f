// RUN: transformer-opt %s --transformer-pass-destinations --transformer-bufferize | FileCheck %s

// Constants are in the order in which the module reads them, not in that in which functions are bufferised.
// CHECK: memref.global "private" constant @__constant_2xf32 : memref<2xf32> = dense<[1.000000e+00, 2.000000e+00]>
// CHECK-NEXT: memref.global "private" constant @__constant_2xf32_0 : memref<2xf32> = dense<[3.000000e+00, 4.000000e+00]>
// CHECK-NEXT: memref.global "private" constant @__constant_2xf32_1 : memref<2xf32> = dense<[5.000000e+00, 6.000000e+00]>
// CHECK-LABEL: func.func @caller(
// CHECK-DAG: memref.get_global @__constant_2xf32 :
// CHECK-DAG: memref.get_global @__constant_2xf32_0 :
// CHECK-LABEL: func.func private @called(
// CHECK-DAG: memref.get_global @__constant_2xf32_1 :
// CHECK-DAG: memref.get_global @__constant_2xf32 :
func.func @caller() -> tensor<2xf32> {
  %a = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = arith.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %empty = tensor.empty() : tensor<2xf32>
  %x = linalg.add ins(%a, %b : tensor<2xf32>, tensor<2xf32>) outs(%empty : tensor<2xf32>) -> tensor<2xf32>
  %y = func.call @called() : () -> tensor<2xf32>
  %z = linalg.add ins(%x, %y : tensor<2xf32>, tensor<2xf32>) outs(%empty : tensor<2xf32>) -> tensor<2xf32>
  return %z : tensor<2xf32>
}
func.func private @called() -> tensor<2xf32> {
  %c = arith.constant dense<[5.0, 6.0]> : tensor<2xf32>
  %a = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %empty = tensor.empty() : tensor<2xf32>
  %x = linalg.add ins(%c, %a : tensor<2xf32>, tensor<2xf32>) outs(%empty : tensor<2xf32>) -> tensor<2xf32>
  return %x : tensor<2xf32>
}
