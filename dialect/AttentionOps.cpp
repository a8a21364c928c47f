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
  if (getCausal() && getMemory())
    return emitOpError() << "causal attention takes no memory";
  return success();
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
  if (op.getMemory() && op.getMemory() == op.getSequences()) {
    rewriter.modifyOpInPlace(op, [&] { op.getMemoryMutable().clear(); });
    return success();
  }
  if (op.getNumKvHeads() && *op.getNumKvHeads() == op.getNumHeads()) {
    rewriter.modifyOpInPlace(op, [&] { op.removeNumKvHeadsAttr(); });
    return success();
  }
  return failure();
}
