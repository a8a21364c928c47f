// RUN: transformer-opt %s --transformer-gpu-merge-kernels | FileCheck %s

// Kernels that differ in their names alone are one; another number, type, attribute or order of arguments is another.
// CHECK-LABEL: func.func @launches
// CHECK: gpu.launch_func @kernels::@first_0 {{.*}} args(%{{.*}} : memref<4xf32>, %[[V:.*]] : f32)
// CHECK: gpu.launch_func @kernels::@first_0 {{.*}} args(%{{.*}} : memref<4xf32>, %[[V]] : f32)
// CHECK: gpu.launch_func @kernels::@other_number
// CHECK: gpu.launch_func @kernels::@other_type
// CHECK: gpu.launch_func @kernels::@other_attribute
// CHECK: gpu.launch_func @kernels::@other_operands
// CHECK: gpu.launch_func @kernels::@first_0 {{.*}} args(%{{.*}} : memref<4xf32>, %[[V]] : f32)
// CHECK: gpu.launch_func @others::@second_0
module attributes {gpu.container_module} {
func.func @launches(%x: memref<4xf32>, %y: memref<8xf32>, %v: f32) {
  %c1 = arith.constant 1 : index
  gpu.launch_func @kernels::@first_0 blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<4xf32>, %v : f32)
  gpu.launch_func @kernels::@second_0 blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<4xf32>, %v : f32)
  gpu.launch_func @kernels::@other_number blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<4xf32>, %v : f32)
  gpu.launch_func @kernels::@other_type blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%y : memref<8xf32>, %v : f32)
  gpu.launch_func @kernels::@other_attribute blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<4xf32>, %v : f32)
  gpu.launch_func @kernels::@other_operands blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<4xf32>, %v : f32)
  gpu.launch_func @kernels::@third_0 blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<4xf32>, %v : f32)
  gpu.launch_func @others::@second_0 blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<4xf32>, %v : f32)
  return
}

// CHECK-LABEL: gpu.module @kernels
// CHECK: gpu.func @first_0(
// CHECK-NEXT: arith.constant 5.0{{0*}}e-01
// CHECK-NOT: gpu.func @second_0(
// CHECK: gpu.func @other_number(
// CHECK-NEXT: arith.constant 2.5{{0*}}e+00
// CHECK: gpu.func @other_type(
// CHECK: gpu.func @other_attribute(
// CHECK: gpu.func @other_operands(
// CHECK-NOT: gpu.func @third_0(
gpu.module @kernels {
  gpu.func @first_0(%x: memref<4xf32>, %v: f32) kernel {
    %half = arith.constant 0.5 : f32
    %i = gpu.thread_id x
    %difference = arith.subf %half, %v : f32
    memref.store %difference, %x[%i] : memref<4xf32>
    gpu.return
  }
  gpu.func @second_0(%x: memref<4xf32>, %v: f32) kernel {
    %half = arith.constant 0.5 : f32
    %i = gpu.thread_id x
    %difference = arith.subf %half, %v : f32
    memref.store %difference, %x[%i] : memref<4xf32>
    gpu.return
  }
  gpu.func @other_number(%x: memref<4xf32>, %v: f32) kernel {
    %half = arith.constant 2.5 : f32
    %i = gpu.thread_id x
    %difference = arith.subf %half, %v : f32
    memref.store %difference, %x[%i] : memref<4xf32>
    gpu.return
  }
  gpu.func @other_type(%x: memref<8xf32>, %v: f32) kernel {
    %half = arith.constant 0.5 : f32
    %i = gpu.thread_id x
    %difference = arith.subf %half, %v : f32
    memref.store %difference, %x[%i] : memref<8xf32>
    gpu.return
  }
  gpu.func @other_attribute(%x: memref<4xf32>, %v: f32) kernel attributes {nvvm.minctasm = 1 : i32} {
    %half = arith.constant 0.5 : f32
    %i = gpu.thread_id x
    %difference = arith.subf %half, %v : f32
    memref.store %difference, %x[%i] : memref<4xf32>
    gpu.return
  }
  gpu.func @other_operands(%x: memref<4xf32>, %v: f32) kernel {
    %half = arith.constant 0.5 : f32
    %i = gpu.thread_id x
    %difference = arith.subf %v, %half : f32
    memref.store %difference, %x[%i] : memref<4xf32>
    gpu.return
  }
  gpu.func @third_0(%x: memref<4xf32>, %v: f32) kernel {
    %half = arith.constant 0.5 : f32
    %i = gpu.thread_id x
    %difference = arith.subf %half, %v : f32
    memref.store %difference, %x[%i] : memref<4xf32>
    gpu.return
  }
}

// A module keeps its own.
// CHECK-LABEL: gpu.module @others
// CHECK: gpu.func @second_0(
gpu.module @others {
  gpu.func @second_0(%x: memref<4xf32>, %v: f32) kernel {
    %half = arith.constant 0.5 : f32
    %i = gpu.thread_id x
    %difference = arith.subf %half, %v : f32
    memref.store %difference, %x[%i] : memref<4xf32>
    gpu.return
  }
}
}
