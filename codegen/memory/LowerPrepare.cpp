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
