//===- Pipelines.h - what every target's pipelines share ------------------===//
#ifndef CODEGEN_MEMORY_PIPELINES_H
#define CODEGEN_MEMORY_PIPELINES_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include <string>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace mlir::transformer {

/// Canonicalisation, and what is computed twice once: of loops and branches that are regions, whose
/// blocks there is nothing to gain from. `disabled`: names of patterns that are not applied.
void addCleanUp(OpPassManager &manager, ArrayRef<std::string> disabled = {});

/// The same where control flow is blocks.
void addBlockCleanUp(OpPassManager &manager);

/// Functions in blocks of the LLVM dialect and of what is left to convert to it, to it.
void addConversionToLlvm(OpPassManager &manager);

/// Results written where callers want them, computations on weights moved to prepare functions.
/// `rowsStayInCaches`: kernels that go over a row more than once read it from memory once.
void addPreparePasses(OpPassManager &manager, bool rowsStayInCaches);

} // namespace mlir::transformer

#endif // CODEGEN_MEMORY_PIPELINES_H
