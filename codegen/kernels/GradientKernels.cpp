//===- GradientKernels.cpp - what the operands of training's kernels must be ---===//
#include "codegen/kernels/KernelDialect.h"
#include "codegen/kernels/KernelVerify.h"

using namespace mlir;
using namespace mlir::transformer::kernel;

LogicalResult ShiftLabelsOp::verify() {
  if (failed(verifyKernel(*this, 1)) ||
      failed(verifyBuffer(*this, "labels", getLabels(), i64(*this), {kAny, kAny})))
    return failure();
  return verifyBuffer(*this, "an out", getOuts()[0], i64(*this), {kAny, kAny});
}

LogicalResult CrossEntropyOp::verify() {
  if (failed(verifyKernel(*this, std::clamp<size_t>(getOuts().size(), 2, 3))) ||
      failed(verifyRows(*this, "logits", getLogits())) ||
      failed(verifyBuffer(*this, "labels", getLabels(), i64(*this), {kAny})) ||
      failed(verifyBuffer(*this, "the loss", getOuts()[0], f32(*this), {})))
    return failure();
  if (getOuts().size() == 3 &&
      failed(verifyBuffer(*this, "softmax", getOuts()[2], f32(*this), {kAny, 2})))
    return failure();
  return verifyBuffer(*this, "losses of rows", getOuts()[1], f32(*this), {kAny});
}

LogicalResult CrossEntropyGradientOp::verify() {
  bool hasLoss = getOuts().size() > 1;
  if (failed(verifyKernel(*this, hasLoss ? 3 : 1)))
    return failure();
  if (hasLoss && getSoftmax())
    return emitOpError("expected a softmax or a loss, found both");
  if (hasLoss && (failed(verifyBuffer(*this, "the loss", getOuts()[1], f32(*this), {})) ||
                  failed(verifyBuffer(*this, "losses of rows", getOuts()[2], f32(*this), {kAny}))))
    return failure();
  FailureOr<int64_t> classes = verifyRows(*this, "logits", getLogits());
  if (failed(classes) || failed(verifyBuffer(*this, "labels", getLabels(), i64(*this), {kAny})) ||
      failed(verifyBuffer(*this, "dloss", getDloss(), f32(*this), {})) ||
      (getSoftmax() && failed(verifyBuffer(*this, "softmax", getSoftmax(), f32(*this), {kAny, 2}))))
    return failure();
  return verifyRoundedOut(*this, getOuts()[0], {kAny, *classes});
}

/// Labels like x, or one for each of its rows.
static LogicalResult verifyNumbers(Operation *op, Value x, Value labels) {
  FailureOr<int64_t> width = verifyRows(op, "x", x);
  if (failed(width))
    return failure();
  SmallVector<int64_t> shape = {kAny, *width};
  auto type = cast<ShapedType>(labels.getType());
  bool isVector = type.getRank() == 1 && *width == 1;
  shape.truncate(isVector ? 1 : 2);
  bool areIntegers = isVector && type.getElementType().isInteger();
  return verifyBuffer(op, "labels", labels, areIntegers ? i64(op) : f32(op), shape);
}

LogicalResult ElementLossOp::verify() {
  if (failed(verifyKernel(*this, 1)) || failed(verifyNumbers(*this, getX(), getLabels())))
    return failure();
  return verifyBuffer(*this, "the loss", getOuts()[0], f32(*this), {});
}

LogicalResult ElementLossGradientOp::verify() {
  if (failed(verifyKernel(*this, 1)) || failed(verifyNumbers(*this, getX(), getLabels())) ||
      failed(verifyBuffer(*this, "dloss", getDloss(), f32(*this), {})))
    return failure();
  return verifyRowsAndOut(*this, "x", getX(), getOuts()[0]);
}

LogicalResult CountLabelsOp::verify() {
  auto type = cast<ShapedType>(getLabels().getType());
  bool areIntegers = type.getElementType().isInteger();
  SmallVector<int64_t> shape(areIntegers ? 1 : type.getRank(), kAny);
  if (failed(verifyKernel(*this, 1)) ||
      failed(
          verifyBuffer(*this, "labels", getLabels(), areIntegers ? i64(*this) : f32(*this), shape)))
    return failure();
  return verifyBuffer(*this, "an out", getOuts()[0], f32(*this), {});
}

/// Positions in sequences.
template <typename OpTy> static LogicalResult verifyPositions(OpTy op) {
  if (failed(verifyBuffer(op, "offsets", op.getCu(), index(op), {kAny})) ||
      failed(verifyBuffer(op, "places", op.getRows(), index(op), {kAny})))
    return failure();
  return verifyBuffer(op, "positions", op.getPositions(), i64(op), {kAny});
}

LogicalResult CountSpansOp::verify() {
  if (failed(verifyKernel(*this, 1)) || failed(verifyPositions(*this)))
    return failure();
  return verifyBuffer(*this, "an out", getOuts()[0], f32(*this), {});
}

/// What span_loss and its backward read.
template <typename OpTy> static LogicalResult verifySpans(OpTy op) {
  FailureOr<int64_t> width = verifyRows(op, "logits", op.getLogits());
  if (failed(width) || failed(verifyPositions(op)))
    return failure();
  if (int64_t column = op.getColumn(); column < 0 || column >= *width)
    return op.emitOpError() << "expected a column in [0, " << *width << "), found " << column;
  return success();
}

LogicalResult SpanLossOp::verify() {
  if (failed(verifyKernel(*this, 1)) || failed(verifySpans(*this)))
    return failure();
  return verifyBuffer(*this, "the loss", getOuts()[0], f32(*this), {});
}

LogicalResult SpanLossGradientOp::verify() {
  if (failed(verifyKernel(*this, 1)) || failed(verifySpans(*this)) ||
      failed(verifyBuffer(*this, "dloss", getDloss(), f32(*this), {})))
    return failure();
  return verifyRowsAndOut(*this, "logits", getLogits(), getOuts()[0]);
}

LogicalResult SumRowsOp::verify() {
  if (failed(verifyKernel(*this, 1)))
    return failure();
  Type ofX = getElementTypeOrSelf(getX());
  if (ofX.isInteger(32)) {
    auto sums = cast<ShapedType>(getOuts()[0].getType());
    int64_t columns = sums.hasStaticShape() ? sums.getNumElements() : kAny;
    if (failed(verifyWords(*this, "x", getX(), columns)))
      return failure();
    return verifyBuffer(*this, "an out", getOuts()[0], f32(*this), {columns});
  }
  FailureOr<int64_t> width = verifyRows(*this, "x", getX(), isHalf(ofX) ? ofX : Type());
  if (failed(width))
    return failure();
  return verifyBuffer(*this, "an out", getOuts()[0], f32(*this), {*width});
}

/// A weight, or what is of its shape.
static LogicalResult verifyTrained(Operation *op, StringRef what, Value value) {
  auto type = cast<ShapedType>(value.getType());
  if (!type.hasStaticShape() || type.getRank() < 1 || type.getRank() > 2)
    return op->emitOpError() << "expected a static " << what << " of one or two dimensions, found "
                             << type;
  return success();
}

LogicalResult SumSquaresOp::verify() {
  auto type = cast<ShapedType>(getX().getType());
  if (failed(verifyKernel(*this, 2)) || failed(verifyTrained(*this, "x", getX())) ||
      failed(verifyBuffer(*this, "the sum", getOuts()[0], f32(*this), {})))
    return failure();
  return verifyBuffer(*this, "sums of rows", getOuts()[1], f32(*this),
                      {type.getRank() > 1 ? type.getDimSize(0) : 1});
}

LogicalResult AdafactorUpdateOp::verify() {
  if (failed(verifyTrained(*this, "gradient", getGradient())))
    return failure();
  ArrayRef<int64_t> shape = cast<ShapedType>(getGradient().getType()).getShape();
  bool isFactored = shape.size() == 2;
  int64_t rows = isFactored ? shape[0] : 1, width = shape.back();
  if (failed(verifyKernel(*this, isFactored ? 5 : 3)))
    return failure();
  SmallVector<SmallVector<int64_t>> expected = {SmallVector<int64_t>(shape)};
  if (isFactored) {
    auto ofColumns = cast<ShapedType>(getOuts()[2].getType());
    int64_t matrices = ofColumns.getRank() == 2 ? ofColumns.getDimSize(0) : 1;
    if (matrices < 1 || rows % matrices)
      return emitOpError() << "expected moments of the columns of matrices that have " << rows
                           << " rows together, found " << ofColumns;
    expected.append({{rows, 1}, {matrices, width}});
    if (failed(verifyBuffer(*this, "means", getOuts()[3], f32(*this), {matrices})))
      return failure();
  } else {
    expected.push_back({width});
  }
  for (auto [out, of] : llvm::zip_first(expected, getOuts()))
    if (failed(verifyBuffer(*this, "a parameter and its moments", of, f32(*this), out)))
      return failure();
  return verifyBuffer(*this, "sums of rows", getOuts().back(), f32(*this), {rows});
}

LogicalResult NormGradientOp::verify() {
  if (failed(verifyKernel(*this, getRms() ? 3 : 4)))
    return failure();
  FailureOr<int64_t> width = verifyRows(*this, "x", getX());
  int64_t part = cast<ShapedType>(getGamma().getType()).getDimSize(0);
  if (failed(width))
    return failure();
  if (part < 1 || *width % part || (!getRms() && part != *width))
    return emitOpError() << "expected gamma of " << *width << " or, with rms, a part of it, found "
                         << part;
  if (failed(verifyBuffer(*this, "gamma", getGamma(), f32(*this), {part})) ||
      failed(verifyBuffer(*this, "dy", getDy(), f32(*this), {kAny, *width})) ||
      failed(verifyBuffer(*this, "dx", getOuts()[0], f32(*this), {kAny, *width})))
    return failure();
  if (getOnto() && failed(verifyBuffer(*this, "onto", getOnto(), f32(*this), {kAny, *width})))
    return failure();
  for (Value out : getOuts().drop_front().drop_back())
    if (failed(verifyBuffer(*this, "dgamma and dbeta", out, f32(*this), {part})))
      return failure();
  return verifyBuffer(*this, "scratch", getOuts().back(), f32(*this), {kAny, 2 * (*width / part)});
}

LogicalResult WindowsGradientOp::verify() {
  if (failed(verifyKernel(*this, 1)))
    return failure();
  FailureOr<int64_t> windows = verifyRows(*this, "dy", getDy());
  FailureOr<int64_t> width = verifyRows(*this, "dx", getOuts()[0]);
  if (failed(windows) || failed(width))
    return failure();
  for (Value offsets : {getCuDy(), getCu()})
    if (failed(verifyBuffer(*this, "offsets", offsets, index(*this), {kAny})))
      return failure();
  if (*windows % *width)
    return emitOpError() << "expected dy of whole rows of " << *width << ", found " << *windows;
  return success();
}

LogicalResult RelativeScoresGradientOp::verify() {
  int64_t heads = getNumHeads();
  if (failed(verifyKernel(*this, 2)) || failed(verifyScoredRows(*this, getX(), getTable(), heads)))
    return failure();
  auto table = cast<ShapedType>(getTable().getType());
  if (failed(verifyBuffer(*this, "dy", getDy(), f32(*this), {kAny, heads * table.getDimSize(0)})) ||
      failed(verifyBuffer(*this, "dx", getOuts()[0], f32(*this), {kAny, table.getDimSize(1)})))
    return failure();
  return verifyBuffer(*this, "dtable", getOuts()[1], f32(*this), table.getShape());
}

LogicalResult TokenGradientOp::verify() {
  if (failed(verifyKernel(*this, 1)) ||
      failed(verifyRowsAndOut(*this, "dy", getDy(), getOuts()[0])))
    return failure();
  return verifyBuffer(*this, "offsets", getCu(), index(*this), {kAny});
}

LogicalResult EmbeddingGradientOp::verify() {
  bool sums = getOuts().size() > 1;
  if (failed(verifyKernel(*this, sums ? 3 : 1)) ||
      failed(verifyBuffer(*this, "ids", getIds(), i64(*this), {kAny})))
    return failure();
  if (sums && (failed(verifyBuffer(*this, "out", getOuts()[1], f32(*this), {})) ||
               failed(verifyBuffer(*this, "out", getOuts()[2], f32(*this), {widthOf(getDy())}))))
    return failure();
  return verifyRowsAndOut(*this, "dy", getDy(), getOuts()[0]);
}

LogicalResult DropoutOp::verify() {
  if (failed(verifyKernel(*this, std::clamp<size_t>(getOuts().size(), 1, 2))))
    return failure();
  FailureOr<int64_t> width = verifyRows(*this, "x", getX());
  if (failed(width))
    return failure();
  for (Value out : getOuts())
    if (failed(verifyRoundedOut(*this, out, {kAny, *width})))
      return failure();
  return success();
}

LogicalResult AttentionGradientOp::verify() {
  int64_t scores = (getQueryScores() ? 1 : 0) + (getKeyScores() ? 1 : 0);
  if (failed(verifyKernel(*this, (getPositionBias() ? 5 : 3) + scores)))
    return failure();
  Type ofQ = getElementTypeOrSelf(getQ()), element = isHalf(ofQ) ? ofQ : f32(*this);
  FailureOr<int64_t> width = verifyRows(*this, "q", getQ(), element);
  FailureOr<int64_t> keys = verifyRows(*this, "k", getK(), element);
  if (failed(width) || failed(keys))
    return failure();
  int64_t heads = getNumHeads(), kvHeads = getNumKvHeads();
  if (heads < 1 || kvHeads < 1 || heads % kvHeads || *width % heads ||
      *keys != *width / heads * kvHeads)
    return emitOpError() << "expected " << heads << " heads in " << *width << " columns and "
                         << kvHeads << ", of which that is a multiple, in those of the keys, found "
                         << *keys;
  if (failed(verifyBuffer(*this, "dresult", getDresult(), element, {kAny, *width})) ||
      failed(verifyBuffer(*this, "v", getV(), element, {kAny, *keys})))
    return failure();
  if (failed(verifyBuffer(*this, "result", getResult(), f32(*this), {kAny, *width})))
    return failure();
  for (auto [out, columns] : llvm::zip(getOuts(), SmallVector<int64_t>{*width, *keys, *keys}))
    if (failed(verifyRoundedOut(*this, out, {kAny, columns})))
      return failure();
  for (Value offsets : {getCuQueries(), getCuKeys()})
    if (failed(verifyBuffer(*this, "offsets", offsets, index(*this), {kAny})))
      return failure();
  if (failed(verifyBias(*this, getPositionBias(), heads)) ||
      failed(verifyScores(*this, getQueryScores(), getKeyScores(), getColumns(), heads, kvHeads)))
    return failure();
  auto ofScores = getOuts().drop_front(getPositionBias() ? 4 : 3);
  for (Value scores : {getQueryScores(), getKeyScores()}) {
    if (!scores)
      continue;
    int64_t width = cast<ShapedType>(scores.getType()).getDimSize(1);
    if (failed(verifyBuffer(*this, "dquery_scores and dkey_scores", ofScores.front(), f32(*this),
                            {kAny, width})))
      return failure();
    ofScores = ofScores.drop_front();
  }
  if (Value bias = getPositionBias()) {
    auto type = cast<ShapedType>(bias.getType());
    int64_t positions = type.getRank() > 1 ? type.getDimSize(1) : 1;
    if (failed(verifyBuffer(*this, "dposition_bias", getOuts()[3], f32(*this), type.getShape())) ||
        failed(
            verifyBuffer(*this, "scratch", getOuts().back(), f32(*this), {kAny, heads, positions})))
      return failure();
  }
  return verifyBuffer(*this, "log_sum_exp", getLogSumExp(), f32(*this), {kAny, heads});
}
