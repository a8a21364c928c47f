//===- Pipelines.h - what every target's pipelines share ------------------===//
#ifndef CODEGEN_MEMORY_PIPELINES_H
#define CODEGEN_MEMORY_PIPELINES_H

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace mlir::transformer {

/// Canonicalisation, and what is computed twice once: of loops and branches that are regions, whose
/// blocks there is nothing to gain from.
void addCleanUp(OpPassManager &manager);

/// The same where control flow is blocks.
void addBlockCleanUp(OpPassManager &manager);

/// Functions in blocks of the LLVM dialect and of what is left to convert to it, to it.
void addConversionToLlvm(OpPassManager &manager);

/// Results written where callers want them, computations on weights moved to prepare functions.
void addPreparePasses(OpPassManager &manager);

} // namespace mlir::transformer

#endif // CODEGEN_MEMORY_PIPELINES_H
