// RUN: transformer-opt %s --transformer-cpu-outline-parallel | FileCheck %s --implicit-check-not=scf.forall
// RUN: transformer-opt %s --transformer-cpu-outline-parallel | FileCheck %s --check-prefix=STRINGS

// STRINGS-DAG: llvm.mlir.global private constant @[[SCOPE:.*]]("layer.0\00")
// STRINGS-DAG: llvm.mlir.global private constant @[[TWICE:.*]]("twice\00")
// STRINGS-DAG: llvm.mlir.global private constant @[[SHAPE:.*]]("rows={} width=8\00")
// STRINGS-DAG: func.func private @tr_scope(!llvm.ptr)
// STRINGS-DAG: func.func private @tr_parallel_for(!llvm.ptr, !llvm.ptr, i64, !llvm.ptr, !llvm.ptr)

// The context holds the buffers' pointers and dynamic sizes, and the trip counts; constants are
// cloned. The second dimension runs fastest.
// CHECK-LABEL: func.func private @f.task0(
// CHECK-SAME: %[[CONTEXT:.*]]: !llvm.ptr, %[[I:.*]]: i64)
// CHECK: %[[FIELDS:.*]] = llvm.load %[[CONTEXT]]
// CHECK: %[[DATA:.*]] = llvm.extractvalue %[[FIELDS]][0] : !llvm.struct<(ptr, i64, ptr, i64, i64, i64)>
// CHECK: %[[ROWS:.*]] = llvm.extractvalue %[[FIELDS]][1]
// CHECK: llvm.insertvalue %[[DATA]], %{{.*}}[1]
// CHECK: llvm.insertvalue %[[ROWS]], %{{.*}}[3, 0]
// CHECK: %[[X:.*]] = builtin.unrealized_conversion_cast %{{.*}} to memref<?x8xf32>
// CHECK: %[[F5:.*]] = llvm.extractvalue %[[FIELDS]][5]
// CHECK: %[[COLUMNS:.*]] = builtin.unrealized_conversion_cast %[[F5]] : i64 to index
// CHECK-NOT: llvm.extractvalue
// CHECK: %[[TWO:.*]] = arith.constant 2.000000e+00
// CHECK: %[[FLAT:.*]] = arith.index_cast %[[I]]
// CHECK: %[[J:.*]] = arith.remui %[[FLAT]], %[[COLUMNS]]
// CHECK: %[[R:.*]] = arith.divui %[[FLAT]], %[[COLUMNS]]
// CHECK: %[[J2:.*]] = arith.muli %[[J]], %c2
// CHECK: %[[COLUMN:.*]] = arith.addi %{{.*}}, %[[J2]]
// CHECK: %[[R16:.*]] = arith.muli %[[R]], %c16
// CHECK: %[[ROW:.*]] = arith.addi %{{.*}}, %[[R16]]
// CHECK: memref.load %[[X]][%[[ROW]], %[[COLUMN]]]
// CHECK: arith.mulf %{{.*}}, %[[TWO]]

// STRINGS-LABEL: func.func @f(
// STRINGS: %[[SLOT:.*]] = llvm.alloca %{{.*}} x !llvm.struct
// STRINGS: %[[AMOUNTS:.*]] = llvm.alloca %{{.*}} x !llvm.array<1 x i64>
// STRINGS: arith.ceildivui
// STRINGS: arith.ceildivui
// STRINGS: %[[TOTAL:.*]] = arith.muli
// STRINGS: %[[WORK:.*]] = llvm.mlir.addressof @transformer.work0
// STRINGS: %[[FIRST:.*]] = llvm.getelementptr %[[AMOUNTS]][0, 0]
// STRINGS: %[[ROWS:.*]] = arith.index_cast %{{.*}} : index to i64
// STRINGS: llvm.store %[[ROWS]], %[[FIRST]]
// STRINGS: llvm.store %{{.*}}, %[[SLOT]]
// STRINGS: %[[F:.*]] = constant @f.task0
// STRINGS: %[[TASK:.*]] = builtin.unrealized_conversion_cast %[[F]]
// STRINGS: %[[COUNT:.*]] = arith.index_cast %[[TOTAL]] : index to i64
// STRINGS: call @tr_parallel_for(%[[TASK]], %[[SLOT]], %[[COUNT]], %[[WORK]], %[[AMOUNTS]])
// STRINGS: %[[NAME:.*]] = llvm.mlir.addressof @[[SCOPE]]
// STRINGS: call @tr_scope(%[[NAME]])
// STRINGS-NEXT: call @layer(
// STRINGS-NEXT: %[[NONE:.*]] = llvm.mlir.zero
// STRINGS-NEXT: call @tr_scope(%[[NONE]])
func.func @f(%x: memref<?x8xf32>, %y: memref<?x8xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x8xf32>
  %two = arith.constant 2.0 : f32
  scf.forall (%i, %j) = (0, 0) to (%n, 8) step (16, 2) {
    transformer_kernel.work "twice" "rows={} width=8"(%n) {flops = array<i64: 8>, bytes = array<i64: 64>, fixed_bytes = 4 : i64}
    %a = memref.load %x[%i, %j] : memref<?x8xf32>
    %b = arith.mulf %a, %two : f32
    memref.store %b, %y[%i, %j] : memref<?x8xf32>
  }
  call @layer(%x) {transformer.scope = "layer.0"} : (memref<?x8xf32>) -> ()
  return
}

// A loop that says nothing.
// CHECK-LABEL: func.func private @layer.task1(
// STRINGS-LABEL: func.func private @layer(
// STRINGS: %[[NOTHING:.*]] = llvm.mlir.zero
// STRINGS: call @tr_parallel_for(%{{.*}}, %{{.*}}, %{{.*}}, %[[NOTHING]], %[[NOTHING]])
func.func private @layer(%x: memref<?x8xf32>) {
  %one = arith.constant 1.0 : f32
  scf.forall (%i) in (4) {
    memref.store %one, %x[%i, %i] : memref<?x8xf32>
  }
  return
}

// What the first loop says, as a tr_work: label, no layer, shape, the number of
// amounts, FLOPs and bytes for each, fixed bytes.
// STRINGS-LABEL: llvm.mlir.global internal constant @transformer.work0()
// STRINGS: %[[LABEL:.*]] = llvm.mlir.addressof @[[TWICE]]
// STRINGS: llvm.insertvalue %[[LABEL]], %{{.*}}[0]
// STRINGS: llvm.mlir.zero
// STRINGS: %[[TEXT:.*]] = llvm.mlir.addressof @[[SHAPE]]
// STRINGS: llvm.insertvalue %[[TEXT]], %{{.*}}[2]
// STRINGS: llvm.mlir.constant(1 : i64)
// STRINGS: llvm.mlir.constant(8 : i64)
// STRINGS-NEXT: llvm.insertvalue {{.*}}[4, 0]
// STRINGS: llvm.mlir.constant(64 : i64)
// STRINGS-NEXT: llvm.insertvalue {{.*}}[5, 0]
// STRINGS: llvm.mlir.constant(4 : i64)
// STRINGS-NEXT: llvm.insertvalue {{.*}}[6]
