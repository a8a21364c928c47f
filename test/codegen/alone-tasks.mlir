// RUN: transformer-opt %s --transformer-fuse --transformer-to-linalg-on-tensors --transformer-cpu-pack=arch=x86-64-v3 --transformer-cpu-tile --transformer-cpu-to-buffers -o %t
// RUN: FileCheck %s --check-prefix=BUFFERS < %t
// RUN: transformer-opt %t --transformer-cpu-to-llvm | FileCheck %s --implicit-check-not=".task1"

// A product that one task computes is a task, too, so that products of the same sizes share its
// function. Each is a loop that may have more iterations, of which canonicalisation would leave none.
// BUFFERS-LABEL: @forward(
// BUFFERS-COUNT-2: scf.forall (%{{[^ ]*}}) in (1) {
// BUFFERS-NOT: scf.forall

// CHECK: llvm.func internal @forward.task0(
// CHECK-LABEL: llvm.func internal @forward(
// CHECK: %[[TASK:.*]] = llvm.mlir.addressof @forward.task0
// CHECK-COUNT-2: llvm.call @tr_parallel_for(%[[TASK]],
func.func @forward(%x: tensor<?x16xf32>, %v: tensor<16x16xf32>, %w: tensor<16x16xf32>) -> tensor<?x16xf32> attributes {transformer.entry} {
  %0 = transformer.linear %x, %v out_in : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %1 = transformer.linear %0, %w out_in : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
  return %1 : tensor<?x16xf32>
}
