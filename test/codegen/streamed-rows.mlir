// RUN: transformer-opt %s --transformer-cpu-set-target=arch=sapphirerapids --transformer-cpu-lower-vectors | FileCheck %s
// RUN: transformer-opt %s --transformer-cpu-set-target=arch=sapphirerapids --transformer-cpu-lower-vectors --transformer-cpu-lower-matrices | FileCheck %s --check-prefix=LLVM

// Rows pass a panel that is in memory: they take no place in the first-level cache.
// CHECK-LABEL: @in_memory(
// CHECK-SAME: %[[X:[^:]*]]: memref<?x2x1x16x16xi32>, %[[PANEL:[^:]*]]: memref<1x1x32x32xi32>
// CHECK: transformer_cpu.load_matrix 6, %[[PANEL]]
// CHECK: transformer_cpu.load_matrix 7, %[[PANEL]]
// CHECK: transformer_cpu.load_matrix streamed 4, %[[X]]
// CHECK: transformer_cpu.load_matrix streamed 5, %[[X]]
// LLVM-LABEL: @in_memory(
// LLVM: llvm.call_intrinsic "llvm.x86.tileloadd64"(%{{.*}}) : (i8, !llvm.ptr, i64) -> ()
// LLVM: llvm.call_intrinsic "llvm.x86.tileloaddt164"(%{{.*}}) : (i8, !llvm.ptr, i64) -> ()
func.func @in_memory(%x: memref<?x2x1x16x16xi32>, %panel: memref<1x1x32x32xi32>, %first: index, %rows: index, %sums: memref<32x1x32xf32>) {
  transformer_cpu.multiply_matrices ins(%x[%first] rows %rows, %panel) outs(%sums) : (memref<?x2x1x16x16xi32>, index, index, memref<1x1x32x32xi32>, memref<32x1x32xf32>) -> ()
  return
}

// A panel that was just packed is in a near cache, as rows are.
// CHECK-LABEL: @packed(
// CHECK: transformer_cpu.load_matrix 4
// CHECK-NOT: load_matrix streamed
// CHECK: return
func.func @packed(%x: memref<?x2x1x16x16xi32>, %w: memref<64x32xf32>, %first: index, %rows: index, %sums: memref<32x1x32xf32>) {
  %c0 = arith.constant 0 : index
  %panel = memref.alloc() : memref<1x1x32x32xi32>
  transformer_cpu.pack_weight in_out at %c0 ins(%w) outs(%panel) : (memref<64x32xf32>, index, memref<1x1x32x32xi32>) -> ()
  transformer_cpu.multiply_matrices ins(%x[%first] rows %rows, %panel) outs(%sums) : (memref<?x2x1x16x16xi32>, index, index, memref<1x1x32x32xi32>, memref<32x1x32xf32>) -> ()
  return
}
