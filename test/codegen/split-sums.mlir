// DEFINE: %{arch} = x86-64-v3
// DEFINE: %{pack} = transformer-opt %s --split-input-file --transformer-fuse --transformer-to-linalg-on-tensors --transformer-cpu-pack=arch=%{arch}
// RUN: %{pack} | FileCheck %s
// RUN: %{pack} --transformer-cpu-tile --transformer-cpu-to-buffers | FileCheck %s --check-prefix=BUFFERS
// REDEFINE: %{arch} = x86-64-v4/winograd
// RUN: %{pack} | FileCheck %s --check-prefix=WINOGRAD
// REDEFINE: %{arch} = sapphirerapids
// RUN: %{pack} | FileCheck %s --check-prefix=MATRICES

// A panel of so many weights stays in no cache: weights that are packed in each call are in parts,
// the first and the last one outside of the loop, which has two a turn; here there is an odd number
// between them.
// CHECK-LABEL: @gradient_of_rows(
// CHECK-SAME: %[[W:[^:]*]]: tensor<13097x48xf32>
// CHECK: tensor.extract_slice %[[W]][0, 0] [2048, 48]
// CHECK: tensor.extract_slice %[[W]][2048, 0] [2048, 48]
// CHECK: scf.for %[[FIRST:.*]] = %c4096 to %c12288 step %c4096
// CHECK: tensor.extract_slice %[[W]][%[[FIRST]], 0] [2048, 48]
// CHECK: transformer_cpu.pack_weight in_out {{.*}} -> tensor<3x2048x16xf32>
// CHECK: %[[SECOND:.*]] = arith.addi %[[FIRST]], %c2048
// CHECK: tensor.extract_slice %[[W]][%[[SECOND]], 0] [2048, 48]
// CHECK: scf.yield
// CHECK: tensor.extract_slice %[[W]][12288, 0] [809, 48]
// CHECK: return
// WINOGRAD-LABEL: @gradient_of_rows(
// WINOGRAD: scf.for
// WINOGRAD: transformer_cpu.winograd_rows
// WINOGRAD: scf.yield
// MATRICES-LABEL: @gradient_of_rows(
// MATRICES: scf.for {{.*}} step %c1536
// MATRICES: transformer_cpu.linear<contraction, "f32-matrix">

// Tasks pack them; the loop's turns share their memory, and nothing is copied.
// BUFFERS-LABEL: @gradient_of_rows(
// BUFFERS-COUNT-5: memref.alloca() {alignment = 64 : i64} : memref<1x{{[0-9]+}}x16xf32>
// BUFFERS-NOT: memref.alloc(
// BUFFERS-NOT: "copy"
// BUFFERS: return
func.func @gradient_of_rows(%w: tensor<13097x48xf32>, %x: tensor<?x13097xf32>) -> tensor<?x48xf32> {
  %0 = transformer.linear %x, %w in_out : tensor<?x13097xf32>, tensor<13097x48xf32> -> tensor<?x48xf32>
  return %0 : tensor<?x48xf32>
}

// -----

// A parameter's panels are made when it is loaded, and read in blocks. For matrix registers they
// are in parts, of which there are eight at most.
// MATRICES-LABEL: @prepared(
// MATRICES-NOT: scf.for
// MATRICES-COUNT-8: transformer_cpu.linear<contraction, "f32-matrix">
// MATRICES-NOT: transformer_cpu.linear<contraction
// MATRICES: return
// CHECK-LABEL: @prepared(
// CHECK-NOT: scf.for
// CHECK: return
transformer.parameter @w : tensor<48x13097xf32>
func.func @prepared(%x: tensor<?x13097xf32>) -> tensor<?x48xf32> attributes {transformer.entry} {
  %w = transformer.get_parameter @w : tensor<48x13097xf32>
  %0 = transformer.linear %x, %w out_in : tensor<?x13097xf32>, tensor<48x13097xf32> -> tensor<?x48xf32>
  return %0 : tensor<?x48xf32>
}
