//===- Pipelines.h - named pipelines on the dialect -----------------------===//
#ifndef PASSES_PIPELINES_H
#define PASSES_PIPELINES_H

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace mlir::transformer {

/// `transformer-fuse`: from a model as written to fused core ops, each distinct
/// layer once. `manager` runs on a module.
void buildFusionPipeline(OpPassManager &manager);

/// Registers every pass of passes/ for textual use.
void registerTransformerPasses();

} // namespace mlir::transformer

#endif // PASSES_PIPELINES_H
