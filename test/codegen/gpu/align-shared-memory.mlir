// RUN: transformer-opt %s --pass-pipeline='builtin.module(gpu.module(transformer-gpu-align-shared-memory))' | FileCheck %s

gpu.module @kernels {
  // CHECK: @memory() {addr_space = 3 : i32, alignment = 1024 : i64}
  llvm.mlir.global external @memory() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
  // CHECK: @undemanding() {addr_space = 3 : i32, alignment = 1024 : i64}
  llvm.mlir.global external @undemanding() {addr_space = 3 : i32} : !llvm.array<8 x i8>
  // CHECK: @demanding() {addr_space = 3 : i32, alignment = 4096 : i64}
  llvm.mlir.global external @demanding() {addr_space = 3 : i32, alignment = 4096 : i64} : !llvm.array<8 x i8>
  // CHECK: @table() {addr_space = 1 : i32, alignment = 16 : i64}
  llvm.mlir.global external @table() {addr_space = 1 : i32, alignment = 16 : i64} : !llvm.array<4 x f32>
}
