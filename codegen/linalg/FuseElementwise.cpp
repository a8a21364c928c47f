//===- FuseElementwise.cpp - one sweep for elementwise ops in a row -------===//
#include "codegen/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_FUSEELEMENTWISE
#include "codegen/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// What is computed once for many places (a bias from several parameters) stays on its own: it may
/// move out of the loop, to load time.
bool isComputedOnceAPlace(OpOperand *operand) {
  auto consumer = cast<linalg::LinalgOp>(operand->getOwner());
  return llvm::all_equal(operand->get().getUsers()) &&
         consumer.getMatchingIndexingMap(operand).isPermutation();
}

struct FuseElementwisePass : mlir::transformer::impl::FuseElementwiseBase<FuseElementwisePass> {
  using Base::Base;
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    linalg::populateElementwiseOpsFusionPatterns(patterns, isComputedOnceAPlace);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
