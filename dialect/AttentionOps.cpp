//===- AttentionOps.cpp - attention on packed rows ------------------------===//
#include "dialect/TransformerDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::transformer;

int64_t AttentionOp::kvHeads() { return getNumKvHeads().value_or(getNumHeads()); }

int64_t AttentionOp::headDim() { return widthOf(getQ()) / getNumHeads(); }

LogicalResult AttentionOp::verify() {
  int64_t heads = getNumHeads(), width = widthOf(getQ());
  if (heads < 1 || width % heads)
    return emitOpError() << "expected num_heads that divides the width " << width << ", found "
                         << heads;
  int64_t kv = kvHeads();
  if (kv < 1 || heads % kv)
    return emitOpError() << "expected num_kv_heads that divides num_heads = " << heads << ", found "
                         << kv;
  int64_t kvWidth = kv * headDim();
  if (failed(verifyWidth(*this, "keys", getK(), kvWidth)) ||
      failed(verifyWidth(*this, "values", getV(), kvWidth)) ||
      failed(verifyWidth(*this, "a result", getResult(), width)))
    return failure();
  if (getLogSumExp() && failed(verifyWidth(*this, "a log_sum_exp", getLogSumExp(), heads)))
    return failure();
  return verifyPositionBias(*this, getPositionBias(), heads);
}

LogicalResult AttentionOp::canonicalize(AttentionOp op, PatternRewriter &rewriter) {
  FloatAttr factor;
  if (op.getScaleFactor() && matchPattern(op.getScaleFactor(), m_Constant(&factor))) {
    double scale = op.getScale().convertToDouble() * factor.getValueAsDouble();
    rewriter.modifyOpInPlace(op, [&] {
      op.setScale(APFloat(scale));
      op.getScaleFactorMutable().clear();
    });
    return success();
  }
  if (op.getNumKvHeads() && *op.getNumKvHeads() == op.getNumHeads()) {
    rewriter.modifyOpInPlace(op, [&] { op.removeNumKvHeadsAttr(); });
    return success();
  }
  if (op.getLogSumExp() && op.getLogSumExp().use_empty()) {
    auto pruned = AttentionOp::create(rewriter, op.getLoc(), op.getResult().getType(),
                                      op->getOperands(), op->getAttrs());
    rewriter.replaceAllUsesWith(op.getResult(), pruned.getResult());
    rewriter.eraseOp(op);
    return success();
  }
  return failure();
}
