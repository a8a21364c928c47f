// DEFINE: %{pack} = transformer-opt %s --transformer-to-linalg-on-tensors --transformer-cpu-set-target=arch=sapphirerapids --transformer-cpu-pack-linear --transformer-pass-destinations
// DEFINE: %{buffers} = %{pack} --canonicalize --cse --transformer-cpu-tile --transformer-cpu-to-buffers
// RUN: %{pack} | FileCheck %s --implicit-check-not=transformer.quantize
// RUN: %{pack} --canonicalize --cse --transformer-cpu-tile | FileCheck %s --check-prefix=TILED
// RUN: %{buffers} | FileCheck %s --check-prefix=BUFFERS --implicit-check-not='"copy"'
// RUN: %{buffers} --transformer-cpu-to-llvm | FileCheck %s --check-prefix=LLVM --implicit-check-not=transformer_cpu.
// RUN: transformer-opt %s --transformer-to-linalg-on-tensors --transformer-cpu-set-target=arch=sapphirerapids/no-amx --transformer-cpu-pack-linear | FileCheck %s --check-prefix=WITHOUT

// WITHOUT: transformer_cpu.linear<contraction, "bf16-pairs">
// WITHOUT-NOT: matri

// Steps are words of two features, as many as fill registers of 16, and so are rows: registers one behind the other,
// which are rows to what tiles the product.
// CHECK-LABEL: @linear(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x41xf32>, %[[W:[^:]*]]: tensor<64x41xf32>
// CHECK: %[[OF_ROWS:.*]] = arith.ceildivui %[[ROWS:.*]], %c16
// CHECK: %[[EMPTY:.*]] = tensor.empty(%[[OF_ROWS]]) : tensor<?x2x1x16x16xi32>
// CHECK: %[[REGISTERS:.*]] = transformer_cpu.bfloat16_rows ins(%[[X]]) outs(%[[EMPTY]])
// CHECK: linalg.unpack %[[REGISTERS]] outer_dims_perm = [1, 2, 0] inner_dims_pos = [1, 2] inner_tiles = [16, 16] into %{{.*}} : tensor<?x2x1x16x16xi32> -> tensor<1x?x32xi32>
// CHECK: transformer_cpu.pack_weight out_in ins(%[[W]]) {{.*}} -> tensor<2x1x32x32xi32>
// CHECK: transformer_cpu.linear = #transformer_cpu.linear<contraction, "bf16-matrix">

// A tile is 32 rows, or what is left, by a panel, and reads registers; its sums are side by side, and its epilogue is a
// loop over rows.
// TILED-LABEL: @linear(
// TILED: scf.for {{.*}} step %c32
// TILED: %[[HEIGHT:.*]] = affine.min
// TILED-NOT: linalg.unpack
// TILED: %[[SUMS:.*]] = transformer_cpu.multiply_matrices ins(%{{.*}}[%{{.*}}] rows %[[HEIGHT]], %{{.*}}) outs({{.*}}) : (tensor<?x2x1x16x16xi32>, {{.*}} -> tensor<32x1x32xf32>
// TILED: scf.for {{.*}} to %[[HEIGHT]] step %c1
// TILED: vector.transfer_read %[[SUMS]]
// TILED-NOT: transformer_cpu.dot_bfloat16

// Registers are configured once around all tiles. Four hold sums, of which two are added to where there are no more
// than 16 rows. Beside them the rows of the tile before are taken, some in each step; the last tile's come last. Nothing
// is copied.
// BUFFERS-LABEL: @linear(
// BUFFERS: transformer_cpu.configure_matrices
// BUFFERS: %[[LAST:.*]]:4 = scf.for {{.*}} -> (index, index, index, index) {
// BUFFERS: scf.for %[[TILE:.*]] = %c0 to %{{.*}} step %c32 iter_args(
// BUFFERS-DAG: %[[HEIGHT:.*]] = affine.min #{{.*}}(%[[TILE]])
// BUFFERS-DAG: transformer_cpu.zero_matrix 0
// BUFFERS-DAG: transformer_cpu.zero_matrix 3
// BUFFERS: %[[IS_TALL:.*]] = arith.cmpi ugt, %[[HEIGHT]], %c16
// BUFFERS: scf.for %[[S:.*]] = %c0 to %c32 step %c16 {
// BUFFERS: scf.for %[[ROW:.*]] = %{{.*}} to %{{.*}} step %c1 {
// BUFFERS: vector.transfer_read %[[SUMS:.*]][%[[ROW]], %c0, %c0]
// BUFFERS: vector.transfer_write
// BUFFERS: scf.if %[[IS_TALL]] {
// BUFFERS: transformer_cpu.load_matrix 6, %[[PANEL:.*]][%c0, %c0, %[[S]], %c0]
// BUFFERS-NEXT: transformer_cpu.load_matrix 7, %[[PANEL]][%c0, %c0, %[[S]], %c16]
// BUFFERS-NEXT: transformer_cpu.load_matrix 4, %[[ROWS:.*]][%[[OF_ROWS:.*]], %[[OF_STEP:.*]], %c0, %c0, %c0] : memref<?x2x1x16x16xi32>
// BUFFERS-NEXT: transformer_cpu.add_matrix_product 0, 4, 6
// BUFFERS-NEXT: transformer_cpu.add_matrix_product 1, 4, 7
// BUFFERS-NEXT: %[[NEXT:.*]] = arith.addi %[[OF_ROWS]], %c1
// BUFFERS-NEXT: transformer_cpu.load_matrix 5, %[[ROWS]][%[[NEXT]], %[[OF_STEP]], %c0, %c0, %c0]
// BUFFERS-NEXT: transformer_cpu.add_matrix_product 2, 5, 6
// BUFFERS-NEXT: transformer_cpu.add_matrix_product 3, 5, 7
// BUFFERS-NEXT: } else {
// BUFFERS-NOT: transformer_cpu.load_matrix 5
// BUFFERS: transformer_cpu.linear<loop, "bf16-matrix", steps = 32>
// BUFFERS-NEXT: transformer_cpu.store_matrix 0, %[[PLACE:.*]][%c0, %c0]
// BUFFERS-NEXT: transformer_cpu.store_matrix 1, %[[PLACE]][%c0, %c16]
// BUFFERS-NEXT: transformer_cpu.store_matrix 2, %[[PLACE]][%c16, %c0]
// BUFFERS-NEXT: transformer_cpu.store_matrix 3, %[[PLACE]][%c16, %c16]
// BUFFERS-NEXT: scf.yield %{{.*}}, %[[TILE]], %[[HEIGHT]]
// BUFFERS: scf.for %[[ROW:.*]] = %c0 to %[[LAST]]#3 step %c1 {
// BUFFERS: vector.transfer_read %[[SUMS]][%[[ROW]], %c0, %c0]
// BUFFERS: transformer_cpu.release_matrices
// LLVM: llvm.call_intrinsic "llvm.x86.ldtilecfg"(%{{.*}}) : (!llvm.ptr) -> ()
// LLVM: llvm.call_intrinsic "llvm.x86.tilezero"(%{{.*}}) : (i8) -> ()
// LLVM: llvm.call_intrinsic "llvm.x86.tileloadd64"(%{{.*}}) : (i8, !llvm.ptr, i64) -> ()
// LLVM: llvm.call_intrinsic "llvm.x86.tdpbf16ps"(%{{.*}}) : (i8, i8, i8) -> ()
// LLVM: llvm.call_intrinsic "llvm.x86.tilestored64"(%{{.*}}) : (i8, !llvm.ptr, i64) -> ()
// LLVM: llvm.call_intrinsic "llvm.x86.tilerelease"() : () -> ()
func.func @linear(%x: tensor<?x41xf32>, %w: tensor<64x41xf32>) -> tensor<?x64xf32> {
  %r = transformer.quantize_rows bf16 %x : tensor<?x41xf32>
  %q = transformer.quantize_weight bf16 %w out_in : tensor<64x41xf32>
  %0 = transformer.linear %r, %q out_in : tensor<?x41xf32>, tensor<64x41xf32> -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// Over the tokens: columns of the left factor are rows of words of two tokens.
// CHECK-LABEL: @gradient(
// CHECK: transformer_cpu.weight_gradient matrices ins(%{{.*}}, %{{.*}}) outs({{.*}}) : (tensor<?x40xf32>, tensor<?x20xf32>, tensor<40x20xf32>, tensor<2x?x1x32x16xi32>, tensor<1x1x?x32xi32>)
// BUFFERS-LABEL: @gradient(
// BUFFERS: transformer_cpu.configure_matrices
// BUFFERS: vector.load %[[SQUARE:.*]][%{{.*}}, %{{.*}}, %c0] : memref<4x32x32xf32>
// BUFFERS: transformer_cpu.load_matrix 4, %[[STRIPS:.*]][%{{.*}}, %{{.*}}, %c0, %c0, %c0]
// BUFFERS: transformer_cpu.load_matrix 5, %[[STRIPS]][%{{.*}}, %{{.*}}, %c0, %c16, %c0]
// BUFFERS: transformer_cpu.store_matrix 3, %[[SQUARE]]
// BUFFERS: transformer_cpu.release_matrices
func.func @gradient(%x: tensor<?x40xf32>, %dy: tensor<?x20xf32>) -> tensor<40x20xf32> {
  %a = transformer.quantize_rows bf16 %x : tensor<?x40xf32>
  %b = transformer.quantize_rows bf16 %dy : tensor<?x20xf32>
  %0 = transformer.linear_weight_gradient %a, %b in_out : tensor<?x40xf32>, tensor<?x20xf32> -> tensor<40x20xf32>
  return %0 : tensor<40x20xf32>
}

// A weight that each call gets is packed in tasks of two panels, whose rows are read in longer
// pieces, and which fetch what they read next. Nothing is fetched beside the products.
// TILED-LABEL: @step(
// TILED: scf.forall
// TILED: transformer_cpu.pack_weight in_out at %{{.*}} ahead ins({{.*}}) outs({{.*}}) {{.*}} -> tensor<2x1x384x32xi32>
// BUFFERS-LABEL: @step(
// BUFFERS: memref.prefetch %{{.*}}, read, locality<2>, data : memref<768x1024xf32>
// BUFFERS: transformer_cpu.configure_matrices
// BUFFERS-NOT: memref.prefetch
// BUFFERS: transformer_cpu.release_matrices
func.func @step(%x: tensor<?x768xf32>, %w: tensor<768x1024xf32>) -> tensor<?x1024xf32> {
  %r = transformer.quantize_rows bf16 %x : tensor<?x768xf32>
  %q = transformer.quantize_weight bf16 %w in_out : tensor<768x1024xf32>
  %0 = transformer.linear %r, %q in_out : tensor<?x768xf32>, tensor<768x1024xf32> -> tensor<?x1024xf32>
  return %0 : tensor<?x1024xf32>
}

// Rows in registers are no rows in memory: a sum over tokens is of what is not rounded.
// CHECK-LABEL: @bias(
// CHECK-SAME: %[[DY:[^:]*]]: tensor<?x41xf32>
// CHECK: transformer_kernel.sum_rows ins(%[[DY]])
func.func @bias(%dy: tensor<?x41xf32>) -> tensor<41xf32> {
  %r = transformer.quantize_rows bf16 %dy : tensor<?x41xf32>
  %0 = transformer.sum_rows %r : tensor<?x41xf32> -> tensor<41xf32>
  return %0 : tensor<41xf32>
}
