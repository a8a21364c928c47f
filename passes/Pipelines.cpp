//===- Pipelines.cpp - named pipelines on the dialect ---------------------===//
#include "passes/Pipelines.h"
#include "dialect/QuantizeOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace mlir::transformer::generated {
#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"
} // namespace mlir::transformer::generated

llvm::Error transformer::LinearDtypes::check() const {
  if (weights != "f32" && (!symbolizeWeightFormat(weights) || weights == "tf32"))
    return llvm::createStringError("--weights-dtype " + weights +
                                   ": expected f32, bf16, f16, int8 or int4");
  bool isHalf = activations == "bf16" || activations == "f16";
  if (activations != "f32" && !isHalf && activations != "tf32" && activations != "int8")
    return llvm::createStringError("--activations-dtype " + activations +
                                   ": expected f32, bf16, f16, tf32 or int8");
  if (activations == "tf32" && weights != "f32")
    return llvm::createStringError(
        "--activations-dtype tf32: expected --weights-dtype f32, found " + weights);
  if (isHalf && weights != activations)
    return llvm::createStringError("--activations-dtype " + activations +
                                   ": expected --weights-dtype " + activations + ", found " +
                                   weights);
  if (activations == "int8" && weights != "int8" && weights != "int4")
    return llvm::createStringError(
        "--activations-dtype int8: expected --weights-dtype int8 or int4, found " + weights);
  return llvm::Error::success();
}

llvm::Error transformer::Purpose::check() const {
  if (mode != "inference" && mode != "train")
    return llvm::createStringError("--mode " + mode + ": expected inference or train");
  if (!llvm::is_contained(recomputeNames(), recompute))
    return llvm::createStringError("--recompute " + recompute + ": expected " +
                                   listOf(recomputeNames()));
  double rate = 0;
  if (!dropout.empty() && (!llvm::to_float(dropout, rate) || !(rate >= 0 && rate < 1)))
    return llvm::createStringError("--dropout " + dropout + ": expected a rate in [0, 1)");
  if (!trains() && recompute != "none")
    return llvm::createStringError("--recompute goes with --mode train");
  if (!trains() && !dropout.empty())
    return llvm::createStringError("--dropout goes with --mode train");
  if (!trains() && !frozen.empty())
    return llvm::createStringError("--freeze goes with --mode train");
  if (!llvm::is_contained(optimizerNames(), optimizer))
    return llvm::createStringError("--optimizer " + optimizer + ": expected " +
                                   listOf(optimizerNames()));
  if (!trains() && optimizer != "adamw")
    return llvm::createStringError("--optimizer goes with --mode train");
  if (!trains() && accumulate)
    return llvm::createStringError("--accumulate goes with --mode train");
  if (mixedPrecision != "no" && mixedPrecision != "bf16" && mixedPrecision != "f16" &&
      mixedPrecision != "tf32")
    return llvm::createStringError("--mixed-precision " + mixedPrecision +
                                   ": expected no, bf16, f16 or tf32");
  if (mixedPrecision == "f16" && optimizer == "adafactor")
    return llvm::createStringError(
        "--mixed-precision f16: expected --optimizer adamw or sgd, which "
        "skip steps whose gradients overflow, found " +
        optimizer);
  if (!trains() && mixedPrecision != "no")
    return llvm::createStringError("--mixed-precision goes with --mode train; expected "
                                   "--weights-dtype and --activations-dtype without it");
  return llvm::Error::success();
}

/// Keys for what the loss drops, of a definition without composites.
static void addDropout(OpPassManager &manager, const transformer::Purpose &purpose) {
  transformer::SeedDropoutPassOptions seeds;
  if (!purpose.dropout.empty())
    llvm::to_float(purpose.dropout, seeds.rate);
  manager.addPass(transformer::createSeedDropoutPass(seeds));
}

/// From a loss to its training step alone.
static void addTraining(OpPassManager &manager, const transformer::Purpose &purpose) {
  transformer::DifferentiatePassOptions differentiate;
  differentiate.recompute = purpose.recompute;
  if (!purpose.frozen.empty()) {
    transformer::FreezeParametersPassOptions freeze;
    llvm::append_range(freeze.patterns, purpose.frozen);
    manager.addPass(transformer::createFreezeParametersPass(freeze));
  }
  manager.addPass(transformer::createDifferentiatePass(differentiate));
  if (purpose.mixedPrecision == "f16")
    manager.addPass(transformer::createScaleLossPass());
  if (purpose.accumulate)
    manager.addPass(transformer::createAddAccumulationPass());
  transformer::ChunkLossPassOptions chunks;
  if (purpose.rowsOfScores)
    chunks.rows = purpose.rowsOfScores;
  manager.addPass(transformer::createChunkLossPass(chunks));
  transformer::AddOptimizerPassOptions optimizer;
  optimizer.optimizer = purpose.optimizer;
  optimizer.defer = purpose.deferUpdate;
  optimizer.tables = purpose.sumsTables;
  manager.addPass(transformer::createAddOptimizerPass(optimizer));
  if (purpose.deferUpdate)
    manager.addPass(transformer::createSpreadUpdatesPass());
  manager.addPass(createSymbolDCEPass());
}

void transformer::addRounding(OpPassManager &manager, const LinearDtypes &dtypes) {
  if (dtypes.areRounded())
    manager.addNestedPass<func::FuncOp>(
        createQuantizeWeightsPass({dtypes.weights, dtypes.activations, dtypes.attention}));
  if (dtypes.encoders)
    manager.addPass(createQuantizeEncodersPass({dtypes.activations}));
}

void transformer::buildFusionPipeline(OpPassManager &manager, const LinearDtypes &dtypes,
                                      const Purpose &purpose) {
  if (purpose.trains())
    manager.addPass(createAddLossPass({AddOptimizerPassOptions().evaluation}));
  manager.addPass(createIsolateEntriesPass());
  manager.addPass(createExpandCompositesPass());
  if (purpose.trains()) {
    manager.addPass(createAddLoraPass());
    addDropout(manager, purpose); // before dropout without a key is taken for none
  } else {
    manager.addPass(createMergeLoraPass());
  }
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  if (!purpose.trains())
    manager.addPass(createChooseTokensEarlyPass());
  else if (purpose.dropsUnlabelled)
    manager.addPass(createDropUnlabelledTokensPass());
  manager.addPass(createDeduplicateLayersPass());
  if (purpose.trains())
    addTraining(manager, purpose);
  else // a trained weight is its own tensor
    manager.addNestedPass<func::FuncOp>(createMergeQkvPass());
  manager.addNestedPass<func::FuncOp>(createFuseEmbeddingNormPass());
  manager.addNestedPass<func::FuncOp>(createFuseResidualNormPass());
  LinearDtypes rounded = dtypes;
  if (purpose.mixedPrecision != "no")
    rounded.weights = rounded.activations = purpose.mixedPrecision;
  if (rounded.activations == "tf32")
    rounded.weights = "tf32"; // which is how they are multiplied; they are kept as they are
  addRounding(manager, rounded);
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

std::string transformer::listOf(ArrayRef<StringRef> names) {
  if (names.size() == 1)
    return names.front().str();
  return llvm::join(names.drop_back(), ", ") + " or " + names.back().str();
}

void transformer::registerTransformerPasses() { generated::registerTransformerPasses(); }
