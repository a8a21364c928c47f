//===- ShareSoftmax.cpp - what a loss knows, its backward reads -----------===//
#include "codegen/Passes.h"
#include "codegen/kernels/KernelDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_SHARESOFTMAX
#include "codegen/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// The loss of the same rows, in front of its backward; null if there is none.
kernel::CrossEntropyOp lossOf(kernel::CrossEntropyGradientOp gradient) {
  for (Operation *user : gradient.getLogits().getUsers()) {
    auto loss = dyn_cast<kernel::CrossEntropyOp>(user);
    if (loss && loss->getBlock() == gradient->getBlock() && loss->isBeforeInBlock(gradient) &&
        loss.getLabels() == gradient.getLabels() && loss.getOuts().size() == 2 &&
        loss.getIgnoreIndex() == gradient.getIgnoreIndex() &&
        loss.getPaddingIndex() == gradient.getPaddingIndex())
      return loss;
  }
  return {};
}

/// The softmax of `loss`, which becomes one more of its outs.
Value softmaxOf(kernel::CrossEntropyOp loss) {
  ImplicitLocOpBuilder b(loss.getLoc(), loss);
  OpFoldResult count = tensor::getMixedSize(b, b.getLoc(), loss.getLogits(), 0);
  Value out = tensor::EmptyOp::create(b, {count, b.getIndexAttr(2)}, b.getF32Type());
  auto dps = cast<DestinationStyleOpInterface>(loss.getOperation());
  return kernel::withOut(dps, out)->getResults().back();
}

/// The gradient, in front of all that reads the loss, computes it; false if it waits for the loss.
bool computesLoss(kernel::CrossEntropyGradientOp gradient, kernel::CrossEntropyOp loss) {
  IRRewriter rewriter(gradient.getContext());
  if (loss.getLabelSmoothing() != gradient.getLabelSmoothing() || !loss->getResult(1).use_empty() ||
      failed(moveOperationDependencies(rewriter, gradient, loss)))
    return false;
  gradient->moveAfter(loss);
  Operation *both = gradient;
  for (Value out : loss.getOuts())
    both = kernel::withOut(cast<DestinationStyleOpInterface>(both), out);
  rewriter.replaceOp(loss, both->getResults().drop_front());
  return true;
}

struct ShareSoftmaxPass : mlir::transformer::impl::ShareSoftmaxBase<ShareSoftmaxPass> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<kernel::CrossEntropyGradientOp> gradients;
    getOperation()->walk([&](kernel::CrossEntropyGradientOp op) { gradients.push_back(op); });
    for (kernel::CrossEntropyGradientOp gradient : gradients)
      if (kernel::CrossEntropyOp loss = lossOf(gradient);
          loss && !(inOneSweep && computesLoss(gradient, loss)))
        gradient.getSoftmaxMutable().assign(softmaxOf(loss));
  }
};

} // namespace
