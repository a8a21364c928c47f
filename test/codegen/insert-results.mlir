// RUN: transformer-opt %s --transformer-insert-results --allow-unregistered-dialect | FileCheck %s

// Two kernels' results side by side in a third buffer, made behind both: they write their parts.
// CHECK-LABEL: @side_by_side(
// CHECK: %[[WHOLE:.*]] = memref.alloc(%{{.*}}) : memref<?x128xf32>
// CHECK: %[[LEFT:.*]] = memref.subview %[[WHOLE]][0, 0]
// CHECK: transformer_kernel.dropout {{.*}} outs(%[[LEFT]])
// CHECK: %[[RIGHT:.*]] = memref.subview %[[WHOLE]][0, 64]
// CHECK: transformer_kernel.dropout {{.*}} outs(%[[RIGHT]])
// CHECK-NOT: memref.copy
// CHECK: "test.read"(%[[WHOLE]])
func.func @side_by_side(%x: memref<?x64xf32>, %key: i64) {
  %c0 = arith.constant 0 : index
  %rows = memref.dim %x, %c0 : memref<?x64xf32>
  %a = memref.alloc(%rows) : memref<?x64xf32>
  transformer_kernel.dropout ins(%x, %key) outs(%a) {rate = 0.1} : (memref<?x64xf32>, i64, memref<?x64xf32>) -> ()
  %b = memref.alloc(%rows) : memref<?x64xf32>
  transformer_kernel.dropout ins(%x, %key) outs(%b) {rate = 0.2} : (memref<?x64xf32>, i64, memref<?x64xf32>) -> ()
  %whole = memref.alloc(%rows) : memref<?x128xf32>
  %left = memref.subview %whole[0, 0] [%rows, 64] [1, 1] : memref<?x128xf32> to memref<?x64xf32, strided<[128, 1]>>
  memref.copy %a, %left : memref<?x64xf32> to memref<?x64xf32, strided<[128, 1]>>
  %right = memref.subview %whole[0, 64] [%rows, 64] [1, 1] : memref<?x128xf32> to memref<?x64xf32, strided<[128, 1], offset: 64>>
  memref.copy %b, %right : memref<?x64xf32> to memref<?x64xf32, strided<[128, 1], offset: 64>>
  "test.read"(%whole) : (memref<?x128xf32>) -> ()
  return
}

// Somebody else reads the buffer; what is copied to is read before; both have the same memory.
// CHECK-LABEL: @left_alone(
// CHECK-COUNT-2: memref.copy
func.func @left_alone(%x: memref<?x64xf32>, %to: memref<?x64xf32>, %key: i64) {
  %c0 = arith.constant 0 : index
  %rows = memref.dim %x, %c0 : memref<?x64xf32>
  %a = memref.alloc(%rows) : memref<?x64xf32>
  transformer_kernel.dropout ins(%x, %key) outs(%a) {rate = 0.1} : (memref<?x64xf32>, i64, memref<?x64xf32>) -> ()
  "test.read"(%a) : (memref<?x64xf32>) -> ()
  memref.copy %a, %x : memref<?x64xf32> to memref<?x64xf32>
  %b = memref.alloc(%rows) : memref<?x64xf32>
  transformer_kernel.dropout ins(%x, %key) outs(%b) {rate = 0.2} : (memref<?x64xf32>, i64, memref<?x64xf32>) -> ()
  "test.read"(%to) : (memref<?x64xf32>) -> ()
  memref.copy %b, %to : memref<?x64xf32> to memref<?x64xf32>
  return
}

// What is copied to is filled between kernel and copy.
// CHECK-LABEL: @filled_between(
// CHECK: transformer_kernel.dropout {{.*}} outs(%[[OWN:.*]]) {
// CHECK: memref.copy %{{.*}}, %[[WHOLE:.*]] :
// CHECK: memref.copy %[[OWN]],
func.func @filled_between(%x: memref<?x64xf32>, %zeros: memref<?x128xf32>, %whole: memref<?x128xf32>, %key: i64) {
  %c0 = arith.constant 0 : index
  %rows = memref.dim %x, %c0 : memref<?x64xf32>
  %a = memref.alloc(%rows) : memref<?x64xf32>
  transformer_kernel.dropout ins(%x, %key) outs(%a) {rate = 0.1} : (memref<?x64xf32>, i64, memref<?x64xf32>) -> ()
  memref.copy %zeros, %whole : memref<?x128xf32> to memref<?x128xf32>
  %left = memref.subview %whole[0, 0] [%rows, 64] [1, 1] : memref<?x128xf32> to memref<?x64xf32, strided<[128, 1]>>
  memref.copy %a, %left : memref<?x64xf32> to memref<?x64xf32, strided<[128, 1]>>
  return
}

// A view of what is copied to is read between them.
// CHECK-LABEL: @read_between(
// CHECK: transformer_kernel.dropout {{.*}} outs(%[[OWN:.*]]) {
// CHECK: memref.copy %[[OWN]],
func.func @read_between(%x: memref<4x64xf32>, %whole: memref<4x64xf32>, %key: i64) {
  %all = memref.collapse_shape %whole [[0, 1]] : memref<4x64xf32> into memref<256xf32>
  %a = memref.alloc() : memref<4x64xf32>
  transformer_kernel.dropout ins(%x, %key) outs(%a) {rate = 0.1} : (memref<4x64xf32>, i64, memref<4x64xf32>) -> ()
  "test.read"(%all) : (memref<256xf32>) -> ()
  memref.copy %a, %whole : memref<4x64xf32> to memref<4x64xf32>
  return
}

// A kernel that reads what it writes.
// CHECK-LABEL: @in_place(
// CHECK: transformer_kernel.dropout ins(%[[OWN:.*]], %{{.*}}) outs(%[[OWN]])
// CHECK: memref.copy %[[OWN]],
func.func @in_place(%to: memref<4x64xf32>, %key: i64) {
  %a = memref.alloc() : memref<4x64xf32>
  "test.write"(%a) : (memref<4x64xf32>) -> ()
  transformer_kernel.dropout ins(%a, %key) outs(%a) {rate = 0.1} : (memref<4x64xf32>, i64, memref<4x64xf32>) -> ()
  memref.copy %a, %to : memref<4x64xf32> to memref<4x64xf32>
  return
}

// What a kernel reads it does not write: the copy stays.
// CHECK-LABEL: @reads_it(
// CHECK: memref.copy
func.func @reads_it(%x: memref<?x64xf32>, %key: i64) {
  %c0 = arith.constant 0 : index
  %rows = memref.dim %x, %c0 : memref<?x64xf32>
  %a = memref.alloc(%rows) : memref<?x64xf32>
  transformer_kernel.dropout ins(%x, %key) outs(%a) {rate = 0.1} : (memref<?x64xf32>, i64, memref<?x64xf32>) -> ()
  memref.copy %a, %x : memref<?x64xf32> to memref<?x64xf32>
  return
}
