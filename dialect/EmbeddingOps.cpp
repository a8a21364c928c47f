//===- EmbeddingOps.cpp - from ids to rows --------------------------------===//
#include "dialect/TransformerDialect.h"
#include <cmath>

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
  return verifyNorm(*this, width, getGamma(), getBeta(), getNorm());
}

LogicalResult RotaryTableOp::verify() {
  int64_t width = widthOf(getResult());
  if (width % 2)
    return emitOpError() << "expected a table of even width, found " << width;
  if (!(getTheta().convertToDouble() > 0))
    return emitOpError() << "expected theta > 0, found " << getTheta().convertToDouble();
  if (getFrequencies() && static_cast<int64_t>(getFrequencies()->size()) != width / 2)
    return emitOpError() << "expected " << width / 2 << " frequencies, found "
                         << getFrequencies()->size();
  return success();
}

SmallVector<double> RotaryTableOp::allFrequencies() {
  if (auto given = getFrequencies())
    return SmallVector<double>(*given);
  int64_t width = widthOf(getResult());
  SmallVector<double> frequencies;
  for (int64_t i = 0; i < width / 2; ++i)
    frequencies.push_back(std::pow(getTheta().convertToDouble(), -2.0 * double(i) / double(width)));
  return frequencies;
}

int64_t RotaryEmbeddingOp::headDim() {
  return widthOf(getX()) / static_cast<int64_t>(getNumHeads());
}

LogicalResult RotaryEmbeddingOp::verify() {
  int64_t heads = getNumHeads(), width = widthOf(getX()), rotated = widthOf(getTable());
  if (heads < 1 || width % heads)
    return emitOpError() << "expected num_heads that divides the width " << width << ", found "
                         << heads;
  if (rotated % 2 || rotated > headDim())
    return emitOpError() << "expected a table of an even width of at most " << headDim()
                         << ", found " << rotated;
  return success();
}
