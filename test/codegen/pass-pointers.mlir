// RUN: transformer-opt %s --transformer-pass-pointers --canonicalize | FileCheck %s

// CHECK-LABEL: func.func private @layer(
// CHECK-SAME: %[[X:[^:]*]]: !llvm.ptr, %[[ROWS:[^:]*]]: i64, %[[W:[^:]*]]: !llvm.ptr, %[[PART:[^:]*]]: memref<2xf32, strided<[3]>>, %[[N:[^:]*]]: index)
// CHECK-DAG: llvm.insertvalue %[[X]], %{{.*}}[1]
// CHECK-DAG: llvm.insertvalue %[[ROWS]], %{{.*}}[3, 0]
// CHECK-DAG: %[[OLD_X:.*]] = builtin.unrealized_conversion_cast %{{.*}} to memref<?x4xf32>
// CHECK-DAG: llvm.insertvalue %[[W]], %{{.*}}[1]
// CHECK-DAG: %[[OLD_W:.*]] = builtin.unrealized_conversion_cast %{{.*}} to memref<4xf32>
// CHECK-DAG: memref.load %[[OLD_X]][%[[N]], %[[N]]]
// CHECK-DAG: memref.store %{{.*}}, %[[OLD_W]]
// CHECK: memref.store %{{.*}}, %[[PART]]
func.func private @layer(%x: memref<?x4xf32>, %w: memref<4xf32>, %part: memref<2xf32, strided<[3]>>, %n: index) attributes {llvm.linkage = #llvm.linkage<internal>} {
  %value = memref.load %x[%n, %n] : memref<?x4xf32>
  memref.store %value, %w[%n] : memref<4xf32>
  memref.store %value, %part[%n] : memref<2xf32, strided<[3]>>
  return
}

// What is an argument is passed on; of another buffer the pointer and the sizes are read.
// CHECK-LABEL: func.func @caller(
// CHECK-SAME: %[[X:[^:]*]]: !llvm.ptr, %[[ROWS:[^:]*]]: i64, %[[PART:[^:]*]]: memref<2xf32, strided<[3]>>, %[[N:[^:]*]]: index)
// CHECK: %[[OTHER:.*]] = memref.alloca() : memref<4xf32>
// CHECK: %[[DESCRIPTOR:.*]] = builtin.unrealized_conversion_cast %[[OTHER]] : memref<4xf32> to !llvm.struct
// CHECK: %[[DATA:.*]] = llvm.extractvalue %[[DESCRIPTOR]][1]
// CHECK: call @layer(%[[X]], %[[ROWS]], %[[DATA]], %[[PART]], %[[N]]) : (!llvm.ptr, i64, !llvm.ptr, memref<2xf32, strided<[3]>>, index) -> ()
func.func @caller(%x: memref<?x4xf32>, %part: memref<2xf32, strided<[3]>>, %n: index) attributes {llvm.linkage = #llvm.linkage<internal>} {
  %other = memref.alloca() : memref<4xf32>
  call @layer(%x, %other, %part, %n) : (memref<?x4xf32>, memref<4xf32>, memref<2xf32, strided<[3]>>, index) -> ()
  return
}

// Others know these: the arguments stay.
// CHECK-LABEL: func.func @known(
// CHECK-SAME: memref<?x4xf32>)
func.func @known(%x: memref<?x4xf32>) {
  return
}

// CHECK: func.func private @host(memref<4xf32>)
func.func private @host(memref<4xf32>) attributes {llvm.linkage = #llvm.linkage<internal>}
