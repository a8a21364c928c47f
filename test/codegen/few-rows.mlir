// DEFINE: %{arch} = haswell
// DEFINE: %{tile} = transformer-opt %s --transformer-to-linalg-on-tensors --transformer-cpu-pack=arch=%{arch} --transformer-cpu-tile
// RUN: %{tile} | FileCheck %s --check-prefixes=CHECK,V3
// REDEFINE: %{arch} = x86-64-v4
// RUN: %{tile} | FileCheck %s --check-prefixes=CHECK,V4
// The marks of the loops are read as they are written.
// RUN: %{tile} > %t.mlir && transformer-opt %t.mlir | diff %t.mlir -
// REDEFINE: %{arch} = x86-64-v4/winograd
// RUN: %{tile} | FileCheck %s --check-prefix=ONE

// A task of fewer than four rows has the panels that a row goes through at once, however large they
// are; one of more rows a single panel. 32 registers hold the sums of two rows.
// CHECK-LABEL: @linear(
// CHECK: tensor.expand_shape
// CHECK: %[[ROWS:.*]] = tensor.dim %{{.*}}, %c0
// CHECK: %[[FEW:.*]] = arith.cmpi ult, %[[ROWS]], %c4
// CHECK: %[[PANELS:.*]] = arith.select %[[FEW]], %c4, %c1
// CHECK: scf.forall (%{{.*}}, %[[FIRST:.*]]) = (0, 0) to (%[[ROWS]], {{.*}}) step (%{{.*}}, %[[PANELS]])
// CHECK: %[[TASK:.*]] = affine.min {{.*}}[%[[ROWS]]
// CHECK: %[[COUNT:.*]] = affine.min {{.*}}(%[[FIRST]])[%[[PANELS]]]
// CHECK: arith.cmpi ult, %[[TASK]], %c4
// CHECK-NEXT: scf.if
// CHECK-NEXT: %[[FOURS:.*]] = affine.apply {{.*}}[%[[COUNT]]]
// CHECK-NEXT: scf.for {{.*}} = %c0 to %[[FOURS]] step %c4
// V3-NEXT: scf.for {{.*}} = %c0 to %[[TASK]] step %c1
// V3: -> (vector<1x4x16xf32>) {
// V4: scf.for {{.*}} = %c0 to %[[PAIRS:[^ ]*]] step %c2
// V4: -> (vector<2x4x32xf32>) {
// CHECK: panels = 4
// V4: scf.for {{.*}} = %[[PAIRS]] to %[[TASK]]
// V4: -> (vector<1x4x32xf32>) {
// V4: panels = 4
// CHECK: scf.for {{.*}} = %[[FOURS]] to %[[COUNT]]
// CHECK: -> (vector<1x1x
// CHECK: } else {
// CHECK-NEXT: scf.for {{.*}} = %c0 to %[[COUNT]] step %c1

// Winograd's sums of a row alone do not wait for memory.
// ONE-LABEL: @linear(
// ONE-NOT: scf.if
// ONE: scf.forall {{.*}} step (%{{.*}}, 1)
// ONE-NOT: scf.if
// ONE: return
transformer.parameter @w : tensor<1056x1024xf32>
func.func @linear(%x: tensor<?x1024xf32>) -> tensor<?x1056xf32> {
  %w = transformer.get_parameter @w : tensor<1056x1024xf32>
  %0 = transformer.linear %x, %w out_in : tensor<?x1024xf32>, tensor<1056x1024xf32> -> tensor<?x1056xf32>
  return %0 : tensor<?x1056xf32>
}
