// DEFINE: %{arch} = x86-64-v3
// DEFINE: %{tile} = transformer-opt %s --transformer-fuse --transformer-to-linalg-on-tensors --transformer-cpu-pack=arch=%{arch} --transformer-cpu-tile
// RUN: %{tile} | FileCheck %s
// RUN: %{tile} --transformer-cpu-to-buffers | FileCheck %s --check-prefix=BUFFERS
// REDEFINE: %{arch} = x86-64-v4/winograd
// RUN: %{tile} | FileCheck %s --check-prefix=WINOGRAD

// Weights that are not known when a program is loaded are packed in each call: by each task its own
// panels, through which all rows go, block by block.
// CHECK-LABEL: @linear(
// CHECK-SAME: %[[W:[^:]*]]: tensor<600x768xf32>
// CHECK-NOT: transformer_cpu.pack_weight
// CHECK: scf.forall (%[[FIRST:.*]]) in (38)
// CHECK: tensor.empty() : tensor<1x768x16xf32>
// CHECK-NEXT: %[[P:.*]] = transformer_cpu.pack_weight out_in at %[[FIRST]] ins(%[[W]]) {{.*}} -> tensor<1x768x16xf32>
// CHECK: scf.for
// CHECK: vector.transfer_read %[[P]]
// WINOGRAD-LABEL: @linear(
// WINOGRAD: scf.forall (%[[FIRST:.*]]) in (38)
// WINOGRAD: transformer_cpu.pack_weight out_in at %[[FIRST]] ins({{.*}}) scales({{.*}}) {{.*}} -> tensor<1x129x6x16xf32>

// A panel is the thread's own. While it is multiplied, lines of what the next task packs are fetched,
// and none of panels.
// BUFFERS-LABEL: @linear(
// BUFFERS-SAME: %[[W:[^:]*]]: memref<600x768xf32>
// BUFFERS: scf.forall (%[[FIRST:.*]]) in (38)
// BUFFERS: %[[OWN:.*]] = memref.alloca() {alignment = 64 : i64} : memref<1x768x16xf32>
// BUFFERS: vector.store {{.*}}, %[[OWN]]
// BUFFERS: scf.for
// BUFFERS: %[[THERE:.*]] = arith.cmpi ult, %{{.*}}, %c38
// BUFFERS: scf.if %[[THERE]] {
// BUFFERS: scf.for %[[LINE:.*]] = {{.*}} step %c1
// BUFFERS: %[[ROW:.*]] = arith.divui %[[LINE]], %c48
// BUFFERS: %[[COLUMN:.*]] = arith.remui %[[LINE]], %c48
// BUFFERS: memref.prefetch %[[W]][{{.*}}], read, locality<2>, data : memref<600x768xf32>
// BUFFERS-NOT: memref.prefetch %[[OWN]]
// BUFFERS: return
func.func @linear(%w: tensor<600x768xf32>, %x: tensor<?x768xf32>) -> tensor<?x600xf32> {
  %0 = transformer.linear %x, %w out_in : tensor<?x768xf32>, tensor<600x768xf32> -> tensor<?x600xf32>
  return %0 : tensor<?x600xf32>
}

// Of weights that follow each other each panel has its own.
// CHECK-LABEL: @merged(
// CHECK: scf.forall (%[[FIRST:.*]]) in (12)
// CHECK: transformer_cpu.pack_weight in_out at %[[FIRST]] ins(%arg0, %arg1) {{.*}} (tensor<512x128xf32>, tensor<512x64xf32>, index,
// BUFFERS-LABEL: @merged(
// BUFFERS-SAME: %[[A:[^:]*]]: memref<512x128xf32>, %[[B:[^:]*]]: memref<512x64xf32>
// BUFFERS: memref.alloca()
// BUFFERS: arith.cmpi ult, %{{.*}}, %c8
// BUFFERS: memref.prefetch %[[A]]
// BUFFERS: arith.cmpi ult, %{{.*}}, %c4
// BUFFERS: memref.prefetch %[[B]]
func.func @merged(%a: tensor<512x128xf32>, %b: tensor<512x64xf32>, %x: tensor<?x512xf32>) -> tensor<?x192xf32> {
  %w = tensor.concat dim(1) %a, %b : (tensor<512x128xf32>, tensor<512x64xf32>) -> tensor<512x192xf32>
  %0 = transformer.linear %x, %w in_out : tensor<?x512xf32>, tensor<512x192xf32> -> tensor<?x192xf32>
  return %0 : tensor<?x192xf32>
}

// Sixteen rows of 1536 k would push what is fetched beside them out of a cache of 512 KiB: packing
// fetches it, in longer pieces.
// CHECK-LABEL: @tall(
// CHECK: transformer_cpu.pack_weight in_out at %{{[^ ]*}} ins({{.*}} -> tensor<1x1536x16xf32>
// WINOGRAD-LABEL: @tall(
// WINOGRAD: transformer_cpu.pack_weight in_out at %{{[^ ]*}} ahead ins({{.*}} -> tensor<2x257x6x16xf32>
func.func @tall(%w: tensor<1536x80xf32>, %x: tensor<?x1536xf32>) -> tensor<?x80xf32> {
  %0 = transformer.linear %x, %w in_out : tensor<?x1536xf32>, tensor<1536x80xf32> -> tensor<?x80xf32>
  return %0 : tensor<?x80xf32>
}

// Lines 8 KiB apart fall into eight places of such a cache: 64 of 600 would stay until they are
// packed. Of rows, or a line further apart, all do.
// CHECK-LABEL: @few_sets(
// CHECK: transformer_cpu.pack_weight in_out at %{{[^ ]*}} ahead ins({{.*}} -> tensor<2x600x16xf32>
// CHECK-LABEL: @all_sets(
// CHECK: transformer_cpu.pack_weight in_out at %{{[^ ]*}} ins({{.*}} -> tensor<1x600x16xf32>
// CHECK-LABEL: @rows(
// CHECK: transformer_cpu.pack_weight out_in at %{{[^ ]*}} ins({{.*}} -> tensor<1x2048x16xf32>
func.func @few_sets(%w: tensor<600x2048xf32>, %x: tensor<?x600xf32>) -> tensor<?x2048xf32> {
  %0 = transformer.linear %x, %w in_out : tensor<?x600xf32>, tensor<600x2048xf32> -> tensor<?x2048xf32>
  return %0 : tensor<?x2048xf32>
}
func.func @all_sets(%w: tensor<600x2064xf32>, %x: tensor<?x600xf32>) -> tensor<?x2064xf32> {
  %0 = transformer.linear %x, %w in_out : tensor<?x600xf32>, tensor<600x2064xf32> -> tensor<?x2064xf32>
  return %0 : tensor<?x2064xf32>
}
func.func @rows(%w: tensor<320x2048xf32>, %x: tensor<?x2048xf32>) -> tensor<?x320xf32> {
  %0 = transformer.linear %x, %w out_in : tensor<?x2048xf32>, tensor<320x2048xf32> -> tensor<?x320xf32>
  return %0 : tensor<?x320xf32>
}

// A panel that does not stay in the cache while rows pass is packed before, whole, where its weight
// is not one that could be in parts (split-sums.mlir).
// CHECK-LABEL: @long(
// CHECK: transformer_cpu.pack_weight out_in ins(%arg0, %arg1) {{.*}} -> tensor<2x50000x16xf32>
// CHECK: scf.forall
func.func @long(%v: tensor<16x50000xf32>, %w: tensor<16x50000xf32>, %x: tensor<?x50000xf32>) -> tensor<?x32xf32> {
  %both = tensor.concat dim(0) %v, %w : (tensor<16x50000xf32>, tensor<16x50000xf32>) -> tensor<32x50000xf32>
  %0 = transformer.linear %x, %both out_in : tensor<?x50000xf32>, tensor<32x50000xf32> -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}

// Layers of one task each have one panel in turn, and nothing to fetch for another.
// BUFFERS-LABEL: @two(
// BUFFERS: memref<1x16x16xf32>
// BUFFERS-NOT: memref.prefetch
// BUFFERS: return
func.func @two(%w: tensor<12x16xf32>, %v: tensor<12x16xf32>, %x: tensor<?x16xf32>) -> (tensor<?x12xf32>, tensor<?x12xf32>) {
  %0 = transformer.linear %x, %w out_in : tensor<?x16xf32>, tensor<12x16xf32> -> tensor<?x12xf32>
  %1 = transformer.linear %x, %v out_in : tensor<?x16xf32>, tensor<12x16xf32> -> tensor<?x12xf32>
  return %0, %1 : tensor<?x12xf32>, tensor<?x12xf32>
}

// Tasks of several panels: the place of one is computed where it is read.
// BUFFERS-LABEL: @several(
// BUFFERS: memref.alloca() {alignment = 64 : i64} : memref<11x48x16xf32>
// BUFFERS: memref.prefetch
func.func @several(%w: tensor<480x48xf32>, %x: tensor<?x48xf32>) -> tensor<?x480xf32> {
  %0 = transformer.linear %x, %w out_in : tensor<?x48xf32>, tensor<480x48xf32> -> tensor<?x480xf32>
  return %0 : tensor<?x480xf32>
}
