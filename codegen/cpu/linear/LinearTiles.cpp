//===- LinearTiles.cpp - what the passes that tile linear layers share ----===//
#include "codegen/cpu/linear/LinearTiles.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

SmallVector<linalg::GenericOp> transformer::marked(Operation *root, StringRef name) {
  SmallVector<linalg::GenericOp> ops;
  root->walk([&](linalg::GenericOp op) {
    if (op->hasAttr(name))
      ops.push_back(op);
  });
  return ops;
}

int64_t transformer::stepsOf(linalg::GenericOp contraction) {
  return cast<RankedTensorType>(rowsOf(contraction).getType()).getDimSize(1);
}

const transformer::LinearFormat &transformer::formatOf(linalg::GenericOp contraction) {
  return *linearFormatNamed(contraction->getAttrOfType<StringAttr>(kContractionAttr));
}

Value transformer::rowsOf(linalg::GenericOp contraction) { return contraction.getInputs().front(); }
Value transformer::panelsOf(linalg::GenericOp contraction) {
  return contraction.getInputs().back();
}

LogicalResult transformer::canonicalizeTiles(ModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  for (Dialect *dialect : module.getContext()->getLoadedDialects())
    if (llvm::is_contained({"affine", "arith", "linalg", "scf", "tensor", "vector"},
                           dialect->getNamespace()))
      dialect->getCanonicalizationPatterns(patterns);
  for (RegisteredOperationName op : module.getContext()->getRegisteredOperations())
    if (llvm::is_contained({"affine", "arith", "linalg", "scf", "tensor", "vector"},
                           op.getDialectNamespace()))
      op.getCanonicalizationPatterns(patterns, module.getContext());
  linalg::populateLinalgTilingCanonicalizationPatterns(patterns);
  scf::populateSCFForLoopCanonicalizationPatterns(patterns);
  tensor::populateMergeConsecutiveInsertExtractSlicePatterns(patterns);
  return applyPatternsGreedily(module, std::move(patterns));
}
