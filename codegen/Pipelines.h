//===- Pipelines.h - named pipelines to a CPU program ---------------------===//
#ifndef CODEGEN_PIPELINES_H
#define CODEGEN_PIPELINES_H

#include "codegen/Target.h"

namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace mlir::transformer {

/// The stages, in order. Each is a named pipeline of transformer-opt that runs
/// on the result of the one before it; `transformer-to-cpu` runs all.
/// `transformer-to-linalg-on-tensors`: linalg and kernels on tensors, the same for
/// every target.
void buildLinalgPipeline(OpPassManager &manager);
/// `transformer-cpu-pack`: weights in panels, computations on weights moved to
/// prepare functions, results written where callers want them.
void buildCpuPackPipeline(OpPassManager &manager, const CpuTarget &target);
/// `transformer-cpu-tile`: register tiles on vectors, still tensors.
void buildCpuTilePipeline(OpPassManager &manager, const CpuTarget &target);
/// `transformer-cpu-to-buffers`: memrefs, loops and vectors, one arena a call.
void buildCpuBufferPipeline(OpPassManager &manager, const CpuTarget &target);
/// `transformer-cpu-to-llvm`: the LLVM dialect and the module ABI.
void buildCpuLlvmPipeline(OpPassManager &manager, const CpuTarget &target);

/// `transformer-to-cpu`: fusion and all of the above.
void buildCpuPipeline(OpPassManager &manager, const CpuTarget &target);

/// Registers the passes of codegen/ and its pipelines for textual use.
void registerCodegenPipelines();

/// Registers every dialect and external model that the pipelines need.
void registerCodegenDialects(DialectRegistry &registry);

} // namespace mlir::transformer

#endif // CODEGEN_PIPELINES_H
