//===- LayerOps.cpp - linear, normalisation, activation -------------------===//
#include "dialect/TransformerDialect.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::transformer;

LogicalResult LinearOp::verify() {
  int64_t width;
  if (failed(verifyLinear(*this, "weight", widthOf(getX()), getWeight(), getBias(), getLayout(),
                          width)))
    return failure();
  return verifyWidth(*this, "a result", getResult(), width);
}

LogicalResult SplitOp::verify() {
  int64_t sum = 0;
  for (Value result : getResults())
    sum += widthOf(result);
  if (sum != widthOf(getX()))
    return emitOpError() << "expected results whose widths add up to " << widthOf(getX())
                         << ", found " << sum;
  return success();
}

LogicalResult SplitOp::canonicalize(SplitOp op, PatternRewriter &rewriter) {
  if (op.getNumResults() != 1 || op.getResult(0).getType() != op.getX().getType())
    return failure();
  rewriter.replaceOp(op, op.getX());
  return success();
}

LogicalResult LayerNormOp::verify() {
  if (failed(verifyWidth(*this, "a result", getResult(), widthOf(getX()))))
    return failure();
  return verifyNorm(*this, widthOf(getX()), getGamma(), getBeta(), getEps().convertToDouble(),
                    getUnbiased());
}

LogicalResult ResidualLayerNormOp::verify() {
  int64_t width = widthOf(getX());
  if (failed(verifyWidth(*this, "a residual", getResidual(), width)) ||
      failed(verifyWidth(*this, "a result", getResult(), width)) ||
      (getSum() && failed(verifyWidth(*this, "a sum", getSum(), width))))
    return failure();
  return verifyNorm(*this, width, getGamma(), getBeta(), getEps().convertToDouble(), getUnbiased());
}

LogicalResult ResidualLayerNormOp::canonicalize(ResidualLayerNormOp op, PatternRewriter &rewriter) {
  if (!op.getSum() || !op.getSum().use_empty())
    return failure();
  auto pruned = ResidualLayerNormOp::create(rewriter, op.getLoc(), op.getResult().getType(),
                                            op->getOperands(), op->getAttrs());
  rewriter.replaceAllUsesWith(op.getResult(), pruned.getResult());
  rewriter.eraseOp(op);
  return success();
}

namespace {
/// relu(relu(x)) -> relu(x)
struct FoldRepeatedRelu : OpRewritePattern<ActivationOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ActivationOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<ActivationOp>();
    if (op.getKind() != ActivationKind::Relu || !inner || inner.getKind() != ActivationKind::Relu)
      return failure();
    rewriter.replaceOp(op, inner.getResult());
    return success();
  }
};
} // namespace

void ActivationOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<FoldRepeatedRelu>(context);
}
