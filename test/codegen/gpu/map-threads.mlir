// RUN: transformer-opt %s --transformer-gpu-map-threads=threads=32 --allow-unregistered-dialect | FileCheck %s
// RUN: transformer-opt %s --transformer-gpu-map-threads --gpu-kernel-outlining --allow-unregistered-dialect | FileCheck %s --check-prefix=OUTLINED

// A thread for each place, blocks of 32, at least one block; the last dimension runs fastest. Profiles
// are told how many numbers are written.
// CHECK-LABEL: @fill(
// CHECK: %[[ONE:.*]] = arith.muli
// CHECK: %[[NUMBERS:.*]] = arith.muli %[[ONE]], %c4
// CHECK: %[[ROWS:.*]] = arith.muli
// CHECK: %[[ALL:.*]] = arith.muli %[[ROWS]], %c4
// CHECK: %[[N:.*]] = arith.ceildivui %[[ALL]], %c32
// CHECK: %[[B:.*]] = arith.maxui %[[N]],
// CHECK-NEXT: transformer_kernel.work "copy" "numbers={}"(%[[NUMBERS]]) {bytes = array<i64: 4>
// CHECK-NEXT: gpu.launch blocks(%{{.*}}) in (%{{.*}} = %[[B]], {{.*}}) threads({{.*}}) module(@kernels) function(@fill_0)
// CHECK: arith.cmpi ult, %[[T:.*]], %[[ALL]]
// CHECK: scf.if
// CHECK-DAG: %[[J:.*]] = arith.remui %[[T]], %c4
// CHECK-DAG: %[[R:.*]] = arith.divui %[[T]], %c4
// CHECK-NOT: arith.remui
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[R]], %[[J]]]
// OUTLINED: gpu.launch_func @kernels::@fill_0
// OUTLINED: gpu.launch_func @kernels::@fill_1
// OUTLINED: gpu.module @kernels
// OUTLINED: gpu.func @fill_0
// OUTLINED: gpu.func @fill_1
func.func @fill(%x: memref<?x4xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %rows = memref.dim %x, %c0 : memref<?x4xf32>
  scf.parallel (%i, %j) = (%c0, %c0) to (%rows, %c4) step (%c1, %c1) {
    memref.store %v, %x[%i, %j] : memref<?x4xf32>
  }
  scf.parallel (%i) = (%c0) to (%rows) step (%c1) {
    memref.store %v, %x[%i, %c0] : memref<?x4xf32>
  }
  return
}

// A kernel's name is one of PTX; constants that it reads are its own.
// OUTLINED: gpu.func @layer$last_0({{.*}}: memref<4xf32>)
// OUTLINED: memref.get_global @table
// OUTLINED: gpu.launch_func {{ *}}@kernels::@layer$last_0 {{.*}} args({{.*}} : memref<4xf32>)
memref.global "private" constant @table : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>
func.func @layer.last(%x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %table = memref.get_global @table : memref<4xf32>
  scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
    %v = memref.load %table[%i] : memref<4xf32>
    memref.store %v, %x[%i] : memref<4xf32>
  }
  return
}

// A loop with memory of the workgroup is blocks: the last dimension counts their threads, and the memory is dynamic, each
// piece at a multiple of 16 bytes.
// CHECK-LABEL: @blocks(
// CHECK: %[[ROWS:.*]] = memref.dim
// CHECK: %[[B:.*]] = arith.maxui %{{.*}}, %{{.*}} : index
// CHECK: gpu.launch blocks(%[[BLOCK:.*]], %{{.*}}, %{{.*}}) in (%{{.*}} = %[[B]], {{.*}}) threads(%[[THREAD:[^,]*]], {{.*}}) in (%{{.*}} = %c4, {{.*}}) dynamic_shared_memory_size %c32_i32 module(@kernels) function(@blocks_0)
// CHECK: %[[MEMORY:.*]] = gpu.dynamic_shared_memory
// CHECK: %[[FIRST:.*]] = memref.view %[[MEMORY]][%c0{{.*}}][] : {{.*}} to memref<3xf32
// CHECK: %[[SECOND:.*]] = memref.view %[[MEMORY]][%c16{{.*}}][] : {{.*}} to memref<4xf32
// CHECK: memref.store %{{.*}}, %[[SECOND]][%[[THREAD]]]
// CHECK: gpu.barrier
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[BLOCK]], %[[THREAD]]]
func.func @blocks(%x: memref<?x4xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %rows = memref.dim %x, %c0 : memref<?x4xf32>
  scf.parallel (%i, %t) = (%c0, %c0) to (%rows, %c4) step (%c1, %c1) {
    %first = memref.alloca() : memref<3xf32, #gpu.address_space<workgroup>>
    %second = memref.alloca() : memref<4xf32, #gpu.address_space<workgroup>>
    memref.store %v, %first[%c0] : memref<3xf32, #gpu.address_space<workgroup>>
    memref.store %v, %second[%t] : memref<4xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %w = memref.load %second[%c0] : memref<4xf32, #gpu.address_space<workgroup>>
    memref.store %w, %x[%i, %t] : memref<?x4xf32>
  }
  return
}

// The host makes what tells of a matrix, a parameter of the kernel.
// CHECK-LABEL: @boxes(
// CHECK: %[[MAP:.*]] = transformer_gpu.tensor_map %{{.*}}, 64 : memref<?x64xbf16>
// CHECK: gpu.launch
// CHECK-NOT: transformer_gpu.tensor_map
// CHECK: "test.copies"(%[[MAP]])
func.func @boxes(%x: memref<?x64xbf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
    %map = transformer_gpu.tensor_map %x, 64 : memref<?x64xbf16>
    "test.copies"(%map) : (!llvm.ptr) -> ()
  }
  return
}

// Without an architecture the GPU's stages take their own.
// RUN: transformer-opt %s --transformer-gpu-map --allow-unregistered-dialect | FileCheck %s --check-prefix=ARCH
// ARCH: transformer.target = #nvvm.target<{{.*}}chip = "sm_90a"
