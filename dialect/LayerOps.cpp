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
  return verifyNorm(*this, widthOf(getX()), getGamma(), getBeta(), getNorm());
}

LogicalResult RmsNormOp::verify() {
  int64_t width = widthOf(getX()), heads = getNumHeads();
  if (failed(verifyWidth(*this, "a result", getResult(), width)))
    return failure();
  if (heads < 1 || width % heads)
    return emitOpError() << "expected num_heads that divides the width " << width << ", found "
                         << heads;
  return verifyRmsNorm(*this, width / heads, getGamma(), getNorm());
}

/// Residual, result and sum are as wide as x.
template <typename OpTy> static LogicalResult verifyResidual(OpTy op) {
  int64_t width = widthOf(op.getX());
  if (failed(verifyWidth(op, "a residual", op.getResidual(), width)) ||
      failed(verifyWidth(op, "a result", op.getResult(), width)) ||
      (op.getSum() && failed(verifyWidth(op, "a sum", op.getSum(), width))))
    return failure();
  return success();
}

LogicalResult ResidualLayerNormOp::verify() {
  if (failed(verifyResidual(*this)))
    return failure();
  return verifyNorm(*this, widthOf(getX()), getGamma(), getBeta(), getNorm());
}

LogicalResult ResidualRmsNormOp::verify() {
  if (failed(verifyResidual(*this)))
    return failure();
  return verifyRmsNorm(*this, widthOf(getX()), getGamma(), getNorm());
}

/// Drops a sum that nobody reads.
template <typename OpTy> static LogicalResult dropSum(OpTy op, PatternRewriter &rewriter) {
  if (!op.getSum() || !op.getSum().use_empty())
    return failure();
  auto pruned = OpTy::create(rewriter, op.getLoc(), op.getResult().getType(), op->getOperands(),
                             op->getAttrs());
  rewriter.replaceAllUsesWith(op.getResult(), pruned.getResult());
  rewriter.eraseOp(op);
  return success();
}

LogicalResult ResidualLayerNormOp::canonicalize(ResidualLayerNormOp op, PatternRewriter &rewriter) {
  return dropSum(op, rewriter);
}

LogicalResult ResidualRmsNormOp::canonicalize(ResidualRmsNormOp op, PatternRewriter &rewriter) {
  return dropSum(op, rewriter);
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

LogicalResult DropoutOp::verify() {
  return verifyDropout([&] { return emitOpError(); }, getRate());
}

OpFoldResult DropoutOp::fold(FoldAdaptor) {
  return !getKey() || getRate().isZero() ? getX() : OpFoldResult();
}
