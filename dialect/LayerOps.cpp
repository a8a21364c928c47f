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
