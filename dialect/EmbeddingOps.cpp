//===- EmbeddingOps.cpp - from ids to rows --------------------------------===//
#include "dialect/TransformerDialect.h"

using namespace mlir;
using namespace mlir::transformer;

LogicalResult EmbeddingOp::verify() {
  return verifyWidth(*this, "a result", getResult(), widthOf(getTable()));
}

LogicalResult SinusoidalPositionOp::verify() {
  if (getMaxPositions() < 1)
    return emitOpError() << "expected max_positions >= 1, found " << getMaxPositions();
  return success();
}

LogicalResult EmbeddingLayerNormOp::verify() {
  if (getIds().empty() || getIds().size() != getTables().size())
    return emitOpError() << "expected one table for each of " << getIds().size()
                         << " ids (at least one), found " << getTables().size();
  int64_t width = widthOf(getResult());
  for (Value table : getTables())
    if (failed(verifyWidth(*this, "a table", table, width)))
      return failure();
  return verifyNorm(*this, width, getGamma(), getBeta(), getEps().convertToDouble(), getUnbiased());
}
