//===- AttentionOps.cpp - attention on packed rows ------------------------===//
#include "dialect/TransformerDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::transformer;

int64_t AttentionOp::kvHeads() { return getNumKvHeads().value_or(getNumHeads()); }

int64_t AttentionOp::headDim() { return widthOf(getQ()) / getNumHeads(); }

int64_t AttentionOp::numPositions() {
  if (getQueryScores())
    return widthOf(getQueryScores()) / static_cast<int64_t>(getNumHeads());
  return getKeyScores() ? widthOf(getKeyScores()) / kvHeads() : 0;
}

LogicalResult RelativeScoresOp::verify() {
  int64_t heads = getNumHeads(), width = widthOf(getX());
  if (heads < 1 || width % heads)
    return emitOpError() << "expected num_heads that divides the width " << width << ", found "
                         << heads;
  int64_t positions = cast<RankedTensorType>(getTable().getType()).getDimSize(0);
  if (failed(verifyWidth(*this, "a table", getTable(), width)))
    return failure();
  return verifyWidth(*this, "a result", getResult(), heads * positions);
}

/// Scores by distance and the columns that say which.
static LogicalResult verifyScores(AttentionOp op) {
  int64_t positions = op.numPositions();
  std::optional<ArrayRef<int32_t>> columns = op.getColumns();
  if (!columns && !positions)
    return success();
  if (!columns || !positions)
    return op.emitOpError() << "expected columns beside query_scores or key_scores";
  int64_t heads = op.getNumHeads();
  if (op.getQueryScores() &&
      failed(verifyWidth(op, "query_scores", op.getQueryScores(), heads * positions)))
    return failure();
  if (op.getKeyScores() &&
      failed(verifyWidth(op, "key_scores", op.getKeyScores(), op.kvHeads() * positions)))
    return failure();
  if (columns->size() % 2 == 0)
    return op.emitOpError() << "expected an odd number of columns, found " << columns->size();
  for (int32_t column : *columns)
    if (column < 0 || column >= positions)
      return op.emitOpError() << "expected columns in [0, " << positions << "), found " << column;
  return success();
}

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
  if (failed(verifyPositionBias(*this, getPositionBias(), heads)))
    return failure();
  return verifyScores(*this);
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
  AttentionOptionsAttr options = op.getOptions();
  if (bool hasRate = !options.getDropout().isZero(); hasRate != !!op.getDropoutKey()) {
    rewriter.modifyOpInPlace(op, [&] {
      op.getDropoutKeyMutable().clear();
      op.setOptionsAttr(options.withDropout(0));
    });
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
