//===- GradientOps.cpp - losses, and the backward of ops ------------------===//
#include "dialect/GradientOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"

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

/// Labels that are numbers: `[T, W]`, or `[T]` for one a row.
template <typename OpTy> static LogicalResult verifyNumbers(OpTy op) {
  auto x = cast<RankedTensorType>(op.getX().getType());
  auto labels = cast<RankedTensorType>(op.getLabels().getType());
  SmallVector<int64_t> expected(x.getShape());
  if (labels.getRank() == 1 && expected[1] == 1)
    expected.pop_back();
  if (succeeded(verifyCompatibleShape(labels.getShape(), expected)))
    return success();
  return op.emitOpError() << "expected labels like x, " << x << ", found " << labels;
}

LogicalResult ElementLossOp::verify() { return verifyNumbers(*this); }

LogicalResult ElementLossGradientOp::verify() { return verifyNumbers(*this); }

template <typename OpTy> static LogicalResult verifyColumn(OpTy op) {
  int64_t width = widthOf(op.getLogits()), column = op.getColumn();
  if (column >= 0 && column < width)
    return success();
  return op.emitOpError() << "expected a column in [0, " << width << "), found " << column;
}

LogicalResult SpanLossOp::verify() { return verifyColumn(*this); }

LogicalResult SpanLossGradientOp::verify() { return verifyColumn(*this); }

LogicalResult CountLabelsOp::verify() {
  if (getPaddingIndex() && isa<FloatType>(getElementTypeOrSelf(getLabels())))
    return emitOpError() << "expected no padding_index of labels that are numbers";
  return success();
}

/// What a gradient is added to.
template <typename OpTy> static LogicalResult verifyOnto(OpTy op, Type result) {
  if (Value onto = op.getOnto(); onto && onto.getType() != result)
    return op.emitOpError() << "expected an onto of the result's type, " << result << ", found "
                            << onto.getType();
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
  return verifyOnto(*this, type);
}

LogicalResult SumRowsOp::verify() {
  return verifyWidth(*this, "a result", getResult(), widthOf(getX()));
}

LogicalResult LayerNormGradientOp::verify() {
  if (failed(verifyOnto(*this, getX().getType())))
    return failure();
  return verifyNorm(*this, widthOf(getX()), getGamma(), getGamma(), getNorm());
}

LogicalResult RmsNormGradientOp::verify() {
  if (failed(verifyOnto(*this, getX().getType())))
    return failure();
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
  if (failed(verifyOnto(*this, getDtable().getType())))
    return failure();
  return verifyWidth(*this, "a result", getDtable(), widthOf(getDy()));
}

/// What it is added to becomes what it begins with: a table that is a head, too, has few rows that
/// ids name, and all others stay where they are.
LogicalResult EmbeddingGradientOp::canonicalize(EmbeddingGradientOp op, PatternRewriter &rewriter) {
  if (op.getOnto() || op.getSquares() || !op->hasOneUse())
    return failure();
  auto sum = dyn_cast<arith::AddFOp>(*op->user_begin());
  if (!sum)
    return failure();
  Value other = sum.getLhs() == op.getDtable() ? sum.getRhs() : sum.getLhs();
  rewriter.setInsertionPoint(sum);
  rewriter.replaceOpWithNewOp<EmbeddingGradientOp>(sum, op.getDtable().getType(),
                                                   /*squares=*/Type(), op.getIds(), op.getDy(),
                                                   other, op.getScaleAttr(),
                                                   op.getPaddingIndexAttr());
  rewriter.eraseOp(op);
  return success();
}
