// RUN: transformer-opt %s --transformer-gpu-emit-kernels --canonicalize --cse --split-input-file | FileCheck %s

// A block has a row, a thread as many numbers of it as it can hold: each is read once, and threads add up what they
// have by lanes and then by warps.
module attributes {transformer.target = #nvvm.target<O = 3, chip = "sm_80", features = "+ptx70">} {
  // CHECK-LABEL: @held(
  // CHECK: scf.parallel (%[[ROW:.*]], %[[THREAD:.*]]) = ({{.*}}) to (%{{.*}}, %c32)
  // CHECK: memref.load %arg0[%[[ROW]], %[[THREAD]]]
  // CHECK: scf.if
  // CHECK: memref.load %arg0
  // CHECK-COUNT-5: gpu.shuffle xor
  // CHECK-COUNT-5: gpu.shuffle xor
  // CHECK-NOT: memref.load %arg0
  func.func @held(%x: memref<?x40xf32>, %g: memref<40xf32>, %b: memref<40xf32>, %y: memref<?x40xf32>) {
    "transformer_kernel.layer_norm"(%x, %g, %b, %y) <{norm = #transformer.norm<eps = 0.0>, operandSegmentSizes = array<i32: 1, 0, 1, 1, 1>}> : (memref<?x40xf32>, memref<40xf32>, memref<40xf32>, memref<?x40xf32>) -> ()
    return
  }
}

// -----

// More warps tell each other what they have in shared memory; rows that are too wide are read again.
module attributes {transformer.target = #nvvm.target<O = 3, chip = "sm_80", features = "+ptx70">} {
  // CHECK-LABEL: @wide(
  // CHECK: to (%{{.*}}, %c512)
  // CHECK: memref.alloca() : memref<16xf32, #gpu.address_space<workgroup>>
  // CHECK: scf.for
  // CHECK-COUNT-4: memref.load %arg0
  // CHECK-COUNT-5: gpu.shuffle xor
  // CHECK: gpu.barrier
  // CHECK: gpu.barrier
  // CHECK: scf.for
  // CHECK-COUNT-4: memref.load %arg0
  func.func @wide(%x: memref<?x9000xf32>, %g: memref<9000xf32>, %b: memref<9000xf32>, %y: memref<?x9000xf32>) {
    "transformer_kernel.layer_norm"(%x, %g, %b, %y) <{norm = #transformer.norm<eps = 0.0>, operandSegmentSizes = array<i32: 1, 0, 1, 1, 1>}> : (memref<?x9000xf32>, memref<9000xf32>, memref<9000xf32>, memref<?x9000xf32>) -> ()
    return
  }
}

// -----

// Without a target a thread has a row.
// CHECK-LABEL: @alone(
// CHECK: scf.parallel (%{{[^,]*}}) =
// CHECK-NOT: gpu.shuffle
func.func @alone(%x: memref<?x40xf32>, %g: memref<40xf32>, %b: memref<40xf32>, %y: memref<?x40xf32>) {
  "transformer_kernel.layer_norm"(%x, %g, %b, %y) <{norm = #transformer.norm<eps = 0.0>, operandSegmentSizes = array<i32: 1, 0, 1, 1, 1>}> : (memref<?x40xf32>, memref<40xf32>, memref<40xf32>, memref<?x40xf32>) -> ()
  return
}
