//===- LinearTiles.cpp - what the passes that tile linear layers share ----===//
#include "codegen/cpu/linear/LinearTiles.h"
#include "codegen/cpu/KeepTasks.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

SmallVector<linalg::GenericOp> transformer::collect(Operation *root,
                                                    function_ref<bool(Operation *)> is) {
  SmallVector<linalg::GenericOp> ops;
  root->walk([&](linalg::GenericOp op) {
    if (is(op))
      ops.push_back(op);
  });
  return ops;
}

SmallVector<linalg::GenericOp> transformer::contractions(Operation *root) {
  return collect(root, isContraction);
}

SmallVector<linalg::GenericOp> transformer::epilogues(Operation *root) {
  return collect(root, [](Operation *op) { return isPart(op, LinearPart::Epilogue); });
}

int64_t transformer::stepsOf(linalg::GenericOp contraction) {
  auto panels = cast<RankedTensorType>(panelsOf(contraction).getType());
  return panels.getDimSize(formatOf(contraction).usesMatrixRegisters() ? 2 : 1);
}

Value transformer::rowsOf(linalg::GenericOp contraction) { return contraction.getInputs().front(); }
Value transformer::panelsOf(linalg::GenericOp contraction) {
  return contraction.getInputs().back();
}

FrozenRewritePatternSet transformer::tilePatterns(RewritePatternSet patterns) {
  constexpr StringLiteral dialects[] = {"affine", "arith", "linalg", "scf", "tensor", "vector"};
  MLIRContext *context = patterns.getContext();
  for (Dialect *dialect : context->getLoadedDialects())
    if (llvm::is_contained(dialects, dialect->getNamespace()))
      dialect->getCanonicalizationPatterns(patterns);
  for (RegisteredOperationName op : context->getRegisteredOperations())
    if (llvm::is_contained(dialects, op.getDialectNamespace()))
      op.getCanonicalizationPatterns(patterns, context);
  linalg::populateLinalgTilingCanonicalizationPatterns(patterns);
  scf::populateSCFForLoopCanonicalizationPatterns(patterns);
  tensor::populateMergeConsecutiveInsertExtractSlicePatterns(patterns);
  return FrozenRewritePatternSet(std::move(patterns), foldsOfTasks());
}

LogicalResult transformer::rewriteTiles(func::FuncOp function,
                                        const FrozenRewritePatternSet &patterns) {
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  return applyPatternsGreedily(function, patterns, config);
}
