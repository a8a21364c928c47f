// RUN: transformer-opt %s --pass-pipeline='builtin.module(gpu.module(transformer-gpu-tensor-map-parameters))' | FileCheck %s

// What tells of a matrix is a parameter by value; other pointers stay as they are.
gpu.module @kernels {
  // CHECK: llvm.func @copies(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}, %{{.*}}: !llvm.ptr<3>
  llvm.func @copies(%other: !llvm.ptr, %map: !llvm.ptr, %barrier: !llvm.ptr<3>, %to: !llvm.ptr<7>, %i: i32) attributes {gpu.kernel, nvvm.kernel} {
    nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %map, %barrier, box[%i, %i] : !llvm.ptr<7>, !llvm.ptr
    llvm.return
  }
}
