// DEFINE: %{arch} = x86-64-v3
// DEFINE: %{pack} = transformer-opt %s --split-input-file --transformer-fuse --transformer-to-linalg-on-tensors --transformer-cpu-pack=arch=%{arch}
// RUN: %{pack} | FileCheck %s
// RUN: %{pack} --transformer-cpu-tile --transformer-cpu-to-buffers | FileCheck %s --check-prefix=BUFFERS
// REDEFINE: %{arch} = x86-64-v4/winograd
// RUN: %{pack} | FileCheck %s --check-prefix=WINOGRAD

// A panel of so many weights stays in no cache: weights that are packed in each call are in parts,
// the first and the last one outside of the loop.
// CHECK-LABEL: @gradient_of_rows(
// CHECK-SAME: %[[W:[^:]*]]: tensor<9001x48xf32>
// CHECK: tensor.extract_slice %[[W]][0, 0] [2048, 48]
// CHECK: scf.for %[[FIRST:.*]] = %c2048 to %c8192 step %c2048
// CHECK: tensor.extract_slice %[[W]][%[[FIRST]], 0] [2048, 48]
// CHECK: transformer_cpu.pack_weight in_out {{.*}} -> tensor<3x2048x16xf32>
// CHECK: scf.yield
// CHECK: tensor.extract_slice %[[W]][8192, 0] [809, 48]
// CHECK: return
// WINOGRAD-LABEL: @gradient_of_rows(
// WINOGRAD: scf.for
// WINOGRAD: transformer_cpu.winograd_rows
// WINOGRAD: scf.yield

// Tasks pack them; the loop's turns share their memory.
// BUFFERS-LABEL: @gradient_of_rows(
// BUFFERS-COUNT-3: memref.alloca() {alignment = 64 : i64} : memref<1x{{[0-9]+}}x16xf32>
// BUFFERS-NOT: memref.alloc(
// BUFFERS: return
func.func @gradient_of_rows(%w: tensor<9001x48xf32>, %x: tensor<?x9001xf32>) -> tensor<?x48xf32> {
  %0 = transformer.linear %x, %w in_out : tensor<?x9001xf32>, tensor<9001x48xf32> -> tensor<?x48xf32>
  return %0 : tensor<?x48xf32>
}

// -----

// A parameter's panels are made when it is loaded, and read in blocks.
// CHECK-LABEL: @prepared(
// CHECK-NOT: scf.for
// CHECK: return
transformer.parameter @w : tensor<48x9001xf32>
func.func @prepared(%x: tensor<?x9001xf32>) -> tensor<?x48xf32> attributes {transformer.entry} {
  %w = transformer.get_parameter @w : tensor<48x9001xf32>
  %0 = transformer.linear %x, %w out_in : tensor<?x9001xf32>, tensor<48x9001xf32> -> tensor<?x48xf32>
  return %0 : tensor<?x48xf32>
}
