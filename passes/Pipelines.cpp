//===- Pipelines.cpp - named pipelines on the dialect ---------------------===//
#include "passes/Pipelines.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"

using namespace mlir;

namespace mlir::transformer::generated {
#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"
} // namespace mlir::transformer::generated

void transformer::buildFusionPipeline(OpPassManager &manager, StringRef weightsDtype) {
  manager.addPass(createIsolateEntriesPass());
  manager.addPass(createExpandCompositesPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createDeduplicateLayersPass());
  manager.addNestedPass<func::FuncOp>(createMergeQkvPass());
  manager.addNestedPass<func::FuncOp>(createFuseEmbeddingNormPass());
  manager.addNestedPass<func::FuncOp>(createFuseResidualNormPass());
  if (weightsDtype != "f32")
    manager.addNestedPass<func::FuncOp>(createQuantizeWeightsPass({weightsDtype.str()}));
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

void transformer::registerTransformerPasses() { generated::registerTransformerPasses(); }
