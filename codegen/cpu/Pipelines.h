//===- Pipelines.h - the CPU's stages -------------------------------------===//
#ifndef CODEGEN_CPU_PIPELINES_H
#define CODEGEN_CPU_PIPELINES_H

#include "llvm/ADT/StringRef.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace mlir::transformer {

/// Weights in panels, computations on weights moved to prepare functions, results written where
/// callers want them. From here on the module has its target.
void buildCpuPackPipeline(OpPassManager &manager, llvm::StringRef arch);
/// Register tiles on vectors, still tensors.
void buildCpuTilePipeline(OpPassManager &manager);
/// Memrefs, loops and vectors, one arena a call.
void buildCpuBufferPipeline(OpPassManager &manager);
/// The LLVM dialect and the module ABI.
void buildCpuLlvmPipeline(OpPassManager &manager);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_PIPELINES_H
