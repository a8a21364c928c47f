// RUN: transformer-opt %s --transformer-gpu-lower-launches --split-input-file --verify-diagnostics | FileCheck %s

// Numbers of a buffer's descriptor, an index and a float each in a place of their own; one table of places for all
// launches of a function. Kernels are numbered.
// CHECK: func.func private @tr_launch(i64, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr)
// CHECK-LABEL: func.func @fill(
// CHECK-SAME: %[[X:.*]]: memref<?x4xf32>, %[[V:.*]]: f32, %[[N:.*]]: index)
// CHECK: %[[GRID:.*]] = llvm.alloca %{{.*}} x !llvm.array<7 x i64>
// CHECK: %[[ARGS:.*]] = llvm.alloca %{{.*}} x !llvm.array<9 x ptr>
// CHECK: %[[VALUES:.*]] = llvm.alloca %{{.*}} x !llvm.array<9 x i64>
// CHECK: %[[FIRST:.*]] = llvm.getelementptr %[[VALUES]][0, 0]
// CHECK: llvm.getelementptr %[[ARGS]][0, 0]
// CHECK: llvm.store %[[FIRST]],
// CHECK: %[[FIELDS:.*]] = builtin.unrealized_conversion_cast %[[X]] : memref<?x4xf32> to !llvm.struct
// CHECK: llvm.extractvalue %[[FIELDS]][4, 1]
// CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[VALUES]][0, 8]
// CHECK: llvm.store %[[V]], %[[PLACE]] : f32
// CHECK: %[[SHARED:.*]] = llvm.zext %{{.*}} : i32 to i64
// CHECK: %[[BYTES:.*]] = llvm.getelementptr %[[GRID]][0, 6]
// CHECK: llvm.store %[[SHARED]], %[[BYTES]]
// CHECK: %[[ZERO:.*]] = llvm.mlir.constant(0 : i64)
// CHECK: call @tr_launch(%{{.*}}, %[[GRID]], %[[ARGS]],
// CHECK: llvm.mlir.constant(1 : i64)
// CHECK: call @tr_launch(
// CHECK: llvm.mlir.global internal constant @transformer.kernels() {{.*}} : !llvm.array<2 x ptr>
// CHECK: llvm.mlir.global internal constant @transformer.device() {{.*}} : !llvm.struct<(ptr, i64, ptr, i64, ptr, i64, i64)>
module attributes {gpu.container_module} {
  gpu.binary @kernels [#gpu.object<#nvvm.target, "">]
  func.func @fill(%x: memref<?x4xf32>, %v: f32, %n: index) {
    %c1 = arith.constant 1 : index
    %shared = arith.constant 64 : i32
    gpu.launch_func @kernels::@first blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1)
        dynamic_shared_memory_size %shared args(%n : index, %x : memref<?x4xf32>, %v : f32)
    gpu.launch_func @kernels::@second blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1) args(%n : index)
    return
  }
}

// -----

// The runtime makes what tells of a matrix and has its 128 bytes: the argument's place has their address for the launch
// and that of a number again behind it.
// CHECK-LABEL: func.func @boxes(
// CHECK: %[[BLOCKS:.*]] = call @tr_multiprocessors() : () -> i64
// CHECK: %[[FIRST:.*]] = llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr, i64) -> !llvm.ptr, bf16
// CHECK: %[[ROWS:.*]] = llvm.mlir.constant(128 : i64)
// CHECK: %[[MAP:.*]] = call @tr_tensor_map(%[[FIRST]], %{{.*}}, %{{.*}}, %{{.*}}, %[[ROWS]]) : (!llvm.ptr, i64, i64, i64, i64) -> !llvm.ptr
// CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[TABLE:.*]][0, 1]
// CHECK: llvm.store %[[MAP]], %[[PLACE]]
// CHECK: call @tr_launch(%{{.*}}, %{{.*}}, %[[TABLE]],
// CHECK: %[[NUMBER:.*]] = llvm.getelementptr %{{.*}}[0, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.array<2 x i64>
// CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[TABLE]][0, 1]
// CHECK: llvm.store %[[NUMBER]], %[[PLACE]]
module attributes {gpu.container_module} {
  gpu.binary @kernels [#gpu.object<#nvvm.target, "">]
  func.func @boxes(%x: memref<?x64xbf16, strided<[192, 1], offset: ?>>, %n: index) {
    %c1 = arith.constant 1 : index
    %blocks = transformer_gpu.multiprocessors
    %map = transformer_gpu.tensor_map %x, 128 : memref<?x64xbf16, strided<[192, 1], offset: ?>>
    gpu.launch_func @kernels::@first blocks in (%blocks, %c1, %c1) threads in (%c1, %c1, %c1) args(%n : index, %map : !llvm.ptr)
    return
  }
}

// -----

// The host's copy of an input may be read.
func.func @counts(%mask: memref<?xi64> {transformer.host_input = 0 : index}, %i: index) -> i64 {
  %v = memref.load %mask[%i] : memref<?xi64>
  return %v : i64
}

// -----

func.func @reads(%x: memref<?xi64>, %i: index) -> i64 {
  // expected-error @below {{reads the device's memory on the host}}
  %v = memref.load %x[%i] : memref<?xi64>
  return %v : i64
}

// -----

func.func @writes(%x: memref<?xi64>, %v: i64, %i: index) {
  // expected-error @below {{writes the device's memory on the host}}
  memref.store %v, %x[%i] : memref<?xi64>
  return
}

// -----

memref.global "private" constant @table : memref<2xf32> = dense<[1.0, 2.0]>
func.func private @layer(memref<2xf32>)
func.func @passes() {
  %table = memref.get_global @table : memref<2xf32>
  // expected-error @below {{passes a constant of the host to the device}}
  call @layer(%table) : (memref<2xf32>) -> ()
  return
}
