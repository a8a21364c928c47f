//===- GradientOps.cpp - losses, and the backward of ops ------------------===//
#include "dialect/GradientOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::transformer;

#define GET_OP_CLASSES
#include "dialect/GradientOps.cpp.inc"

static int64_t rowsOf(Value value) { return cast<RankedTensorType>(value.getType()).getDimSize(0); }

LogicalResult CrossEntropyOp::verify() {
  int64_t rows = rowsOf(getLogits()), labels = rowsOf(getLabels());
  if (rows != labels && !ShapedType::isDynamic(rows) && !ShapedType::isDynamic(labels))
    return emitOpError() << "expected as many labels as rows, " << rows << ", found " << labels;
  double smoothing = getLabelSmoothing().convertToDouble();
  if (!(smoothing >= 0 && smoothing < 1))
    return emitOpError() << "expected label_smoothing in [0, 1), found " << smoothing;
  return success();
}

LogicalResult LinearWeightGradientOp::verify() {
  SmallVector<int64_t> expected = {widthOf(getDy()), widthOf(getX())};
  if (getLayout() == WeightLayout::InOut)
    std::swap(expected[0], expected[1]);
  auto type = cast<RankedTensorType>(getDweight().getType());
  if (type.getShape() != ArrayRef(expected))
    return emitOpError() << "expected a result of " << expected[0] << "x" << expected[1]
                         << ", found " << type;
  return success();
}

LogicalResult SumRowsOp::verify() {
  return verifyWidth(*this, "a result", getResult(), widthOf(getX()));
}

LogicalResult LayerNormGradientOp::verify() {
  return verifyNorm(*this, widthOf(getX()), getGamma(), getGamma(), getNorm());
}

LogicalResult RmsNormGradientOp::verify() {
  int64_t width = widthOf(getX()), heads = getNumHeads();
  if (heads < 1 || width % heads)
    return emitOpError() << "expected num_heads that divides the width " << width << ", found "
                         << heads;
  return verifyRmsNorm(*this, width / heads, getGamma(), getNorm());
}

LogicalResult WindowsGradientOp::verify() {
  if (widthOf(getDy()) % widthOf(getDx()))
    return emitOpError() << "expected rows of whole windows of " << widthOf(getDx()) << ", found "
                         << widthOf(getDy());
  return success();
}

LogicalResult TokenGradientOp::verify() {
  return verifyWidth(*this, "a result", getDx(), widthOf(getDy()));
}

LogicalResult EmbeddingGradientOp::verify() {
  return verifyWidth(*this, "a result", getDtable(), widthOf(getDy()));
}
