// DEFINE: %{pack} = transformer-opt %s --split-input-file --transformer-fuse --transformer-to-linalg-on-tensors --transformer-cpu-pack=arch=sapphirerapids
// DEFINE: %{tile} = %{pack} --transformer-cpu-tile
// RUN: %{pack} | FileCheck %s
// RUN: %{tile} | FileCheck %s --check-prefix=TILE
// RUN: %{tile} --transformer-cpu-to-buffers | FileCheck %s --check-prefix=BUFFERS --implicit-check-not=split_panels --implicit-check-not="memref.alloc("

// What only encodes is computed in matrix registers. Panels of a parameter are made when it is
// loaded, of float32; each call splits them.
// CHECK-LABEL: @forward(
// CHECK: transformer_cpu.bfloat16_rows ins({{.*}}) {{.*}} -> tensor<?x4x3x16x16xi32>
// CHECK: %[[P:.*]] = transformer.get_parameter @w.prepared : tensor<30x100x32xf32>
// CHECK: transformer_cpu.split_panels ins(%[[P]]) {{.*}} -> tensor<30x3x64x32xi32>
// CHECK: transformer_cpu.linear<contraction, "f32-matrix">
// CHECK-LABEL: @prepare_0(
// CHECK: transformer_cpu.pack_weight out_in {{.*}} -> tensor<30x100x32xf32>

// A task has up to 256 rows and four panels, or three of few rows, that threads have something to
// share. 64 rows go through all of them before the next ones.
// TILE-LABEL: @forward(
// TILE: arith.cmpi ule, %{{.*}}, %c256
// TILE: %[[PANELS:.*]] = arith.select %{{.*}}, %c3, %c4
// TILE: scf.forall (%{{.*}}, %[[FIRST:.*]]) = (0, 0) to (%{{.*}}, 30) step (%{{.*}}, %[[PANELS]])
// TILE: transformer_cpu.split_panels at %[[FIRST]] ahead ins({{.*}}) {{.*}} -> tensor<4x3x64x32xi32>
// TILE: scf.for
// TILE: transformer_cpu.multiply_matrices

// The first rows of a task make a panel as they multiply, a step of registers ahead: 50 words of
// two numbers, behind which there are 14 of zeros. If there are no other rows, two steps in turn
// have the same place.
// BUFFERS-LABEL: @forward(
// BUFFERS: scf.forall ({{.*}}) = (0, 0) to (%{{.*}}, 30)
// BUFFERS: %[[PARTS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<4x3x64x32xi32>
// BUFFERS: scf.for %[[BLOCK:[^ ]*]] = %c0
// BUFFERS: scf.for %{{[^ ]*}} = %c0 {{.*}} step %c1
// BUFFERS: scf.for %[[T:[^ ]*]] = %c0 {{.*}} step %c32
// BUFFERS: %[[FIRST_TILE:.*]] = arith.cmpi eq, %[[T]], %c0
// BUFFERS: %[[FIRST_BLOCK:.*]] = arith.cmpi eq, %[[BLOCK]], %c0
// BUFFERS: %[[IS_FIRST:.*]] = arith.andi %[[FIRST_TILE]], %[[FIRST_BLOCK]]
// BUFFERS: %[[IS_ALL:.*]] = arith.cmpi ule, %{{.*}}, %c2
// BUFFERS: %[[PLACES:.*]] = arith.select %[[IS_ALL]], %c16, %c-1
// BUFFERS: scf.if %[[IS_FIRST]] {
// BUFFERS: vector.store
// BUFFERS: scf.for %[[S:.*]] = %c0 to %c64 step %c16 {
// BUFFERS: %[[NEXT:.*]] = arith.addi %[[S]], %c16
// BUFFERS: %[[THERE:.*]] = arith.cmpi ult, %[[NEXT]], %c64
// BUFFERS: %[[MAKES:.*]] = arith.andi %[[IS_FIRST]], %[[THERE]]
// BUFFERS: scf.if %[[MAKES]] {
// BUFFERS: arith.andi %[[NEXT]], %[[PLACES]]
// BUFFERS: arith.subi %c34, %[[S]]
// BUFFERS: memref.prefetch
// BUFFERS: vector.store
// BUFFERS: arith.subi %c48, %[[S]]
// BUFFERS: vector.store %cst
// BUFFERS: transformer_cpu.load_matrix 6, {{.*}}[%c0, %c0, %{{.*}}, %c0]
transformer.parameter @w : tensor<960x100xf32>
func.func @forward(%x: tensor<?x100xf32>) -> tensor<?x960xf32> attributes {transformer.entry} {
  %w = transformer.get_parameter @w : tensor<960x100xf32>
  %0 = transformer.linear %x, %w out_in : tensor<?x100xf32>, tensor<960x100xf32> -> tensor<?x960xf32>
  return %0 : tensor<?x960xf32>
}

// -----

// Of 16 rows or fewer the next step's words are split between the products, as long as it has all
// of them.
// BUFFERS-LABEL: @whole_steps(
// BUFFERS: scf.forall ({{.*}}) = (0, 0) to (%{{.*}}, 1) step
// BUFFERS: scf.for %[[BLOCK:[^ ]*]] = %c0
// BUFFERS: scf.for %[[T:[^ ]*]] = %c0 {{.*}} step %c32
// BUFFERS: %[[FIRST_TILE:.*]] = arith.cmpi eq, %[[T]], %c0
// BUFFERS: %[[FIRST_BLOCK:.*]] = arith.cmpi eq, %[[BLOCK]], %c0
// BUFFERS: %[[IS_FIRST:.*]] = arith.andi %[[FIRST_TILE]], %[[FIRST_BLOCK]]
// BUFFERS: %[[IS_TALL:.*]] = arith.cmpi ugt, %{{.*}}, %c16
// BUFFERS: scf.for %[[S:.*]] = %c0 to %c32 step %c16 {
// BUFFERS: %[[MAKES:.*]] = arith.andi %[[IS_FIRST]], %{{.*}} : i1
// BUFFERS: arith.andi %[[MAKES]], %[[IS_TALL]] : i1
// BUFFERS: scf.if %[[IS_TALL]] {
// BUFFERS: } else {
// BUFFERS: scf.if %[[MAKES]] {
// BUFFERS: transformer_cpu.add_matrix_product 0, 4, 6
// BUFFERS-COUNT-6: vector.store
// BUFFERS: transformer_cpu.add_matrix_product 1, 4, 7
// BUFFERS-COUNT-6: vector.store
// BUFFERS: } else {
// BUFFERS: transformer_cpu.add_matrix_product 0, 4, 6
// BUFFERS-NEXT: transformer_cpu.add_matrix_product 1, 4, 7
transformer.parameter @w : tensor<32x64xf32>
func.func @whole_steps(%x: tensor<?x64xf32>) -> tensor<?x32xf32> attributes {transformer.entry} {
  %w = transformer.get_parameter @w : tensor<32x64xf32>
  %0 = transformer.linear %x, %w out_in : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}

// -----

// A program with a cache meets few rows, for which splitting would take longer than reading: its
// layers multiply float32, but those of an encoder, which keep nothing and whose caller does.
// CHECK-LABEL: @encoder_layer(
// CHECK: transformer_cpu.linear<contraction, "f32-matrix">
// CHECK-LABEL: @encode(
// CHECK: transformer_cpu.linear<contraction, "f32">
// CHECK-LABEL: @forward(
// CHECK: transformer_cpu.linear<contraction, "f32">
transformer.parameter @a : tensor<64x64xf32>
transformer.parameter @b : tensor<64x64xf32>
func.func private @encoder_layer(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32> {
  %0 = transformer.linear %x, %w out_in : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}
func.func @encode(%x: tensor<?x64xf32>, %cache: tensor<?x64xf32> {transformer.state = "cache"})
    -> (tensor<?x64xf32>, tensor<?x64xf32> {transformer.state = "cache"}) attributes {transformer.entry} {
  %a = transformer.get_parameter @a : tensor<64x64xf32>
  %b = transformer.get_parameter @b : tensor<64x64xf32>
  %0 = call @encoder_layer(%x, %a) : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %1 = transformer.linear %0, %b out_in : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  return %1, %cache : tensor<?x64xf32>, tensor<?x64xf32>
}
func.func @forward(%x: tensor<?x64xf32>) -> tensor<?x64xf32> attributes {transformer.entry} {
  %b = transformer.get_parameter @b : tensor<64x64xf32>
  %0 = transformer.linear %x, %b out_in : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}
