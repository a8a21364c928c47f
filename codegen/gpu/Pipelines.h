//===- Pipelines.h - the GPU's stages -------------------------------------===//
#ifndef CODEGEN_GPU_PIPELINES_H
#define CODEGEN_GPU_PIPELINES_H

#include "llvm/ADT/StringRef.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace mlir::transformer {

/// Linalg and kernels on tensors to buffers in one arena and `scf.parallel`, an index a thread.
void buildGpuThreadsPipeline(OpPassManager &manager);
/// Buffers in one arena, kernels in `gpu.module @kernels`, launches in the functions.
void buildGpuPipeline(OpPassManager &manager, llvm::StringRef arch);
/// The GPU module in NVVM.
void buildNvvmPipeline(OpPassManager &manager);
/// Behind embedKernels: the functions that launch the kernels in the LLVM dialect, with the module
/// ABI.
void buildGpuHostPipeline(OpPassManager &manager);

} // namespace mlir::transformer

#endif // CODEGEN_GPU_PIPELINES_H
