//===- Pipelines.h - named pipelines on the dialect -----------------------===//
#ifndef PASSES_PIPELINES_H
#define PASSES_PIPELINES_H

#include "llvm/ADT/StringRef.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace mlir::transformer {

/// `transformer-fuse`: from a model as written to fused core ops, each distinct
/// layer once, its linear layers on weights of `weightsDtype` ("f32": as they are). `manager` runs
/// on a module.
void buildFusionPipeline(OpPassManager &manager, llvm::StringRef weightsDtype = "f32");

/// Registers every pass of passes/ for textual use.
void registerTransformerPasses();

} // namespace mlir::transformer

#endif // PASSES_PIPELINES_H
