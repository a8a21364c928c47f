//===- LowerPrepare.cpp - prepare functions to kernels and copies ---------===//
#include "codegen/Passes.h"
#include "codegen/kernels/KernelDialect.h"
#include "codegen/memory/DestinationPassing.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_LOWERPREPARE
#include "codegen/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// The weights of a concatenation of outputs one by one; for panels, where they fall into whole
/// ones.
template <typename OpTy> void separateWeights(OpTy op, int64_t columns) {
  unsigned outputDim = op.getLayout() == WeightLayout::OutIn ? 0 : 1;
  SmallVector<Value> weights;
  for (Value weight : op.getWeights()) {
    auto concat = weight.getDefiningOp<tensor::ConcatOp>();
    auto isWhole = [&](Value input) {
      return cast<RankedTensorType>(input.getType()).getDimSize(outputDim) % columns == 0;
    };
    if (concat && concat.getDim() == outputDim &&
        llvm::all_of(concat.getInputs().drop_back(), isWhole))
      llvm::append_range(weights, concat.getInputs());
    else
      weights.push_back(weight);
  }
  op.getWeightsMutable().assign(weights);
}

void lowerTable(SinusoidalTableOp op) {
  OpBuilder b(op);
  Value out = tensor::EmptyOp::create(b, op.getLoc(), op.getType(), ValueRange{});
  auto table = kernel::SinusoidalTableOp::create(b, op.getLoc(), TypeRange{op.getType()},
                                                 ValueRange{out}, op.getLayout());
  op.replaceAllUsesWith(table.getResult(0));
  op.erase();
}

struct LowerPreparePass : mlir::transformer::impl::LowerPrepareBase<LowerPreparePass> {
  using Base::Base;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::SmallPtrSet<Operation *, 8> functions;
    for (auto prepared : module.getOps<PreparedOp>())
      functions.insert(module.lookupSymbol<func::FuncOp>(prepared.getFunction()));
    module.walk([](kernel::PackWeightOp op) {
      separateWeights(op, cast<RankedTensorType>(op.getOuts()[0].getType()).getShape().back());
    });
    module.walk([](kernel::WinogradScalesOp op) { separateWeights(op, 1); });
    module.walk(lowerTable);
    for (Operation *op : functions) {
      auto function = cast<func::FuncOp>(op);
      RewritePatternSet patterns(&getContext());
      tensor::populateDecomposeTensorConcatPatterns(patterns);
      linalg::populateElementwiseOpsFusionPatterns(patterns, [](OpOperand *) { return true; });
      if (failed(applyPatternsGreedily(function, std::move(patterns))))
        return signalPassFailure();
      addDestinations(function);
    }
  }
};

} // namespace
