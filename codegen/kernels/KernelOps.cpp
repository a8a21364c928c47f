//===- KernelOps.cpp - what a kernel's operands must be -------------------===//
#include "codegen/kernels/KernelDialect.h"
#include "codegen/kernels/KernelVerify.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "runtime/abi/ModuleAbi.h"

using namespace mlir;
using namespace mlir::transformer::kernel;

LogicalResult WorkOp::verify() {
  size_t amounts = getAmounts().size();
  if (amounts > TR_MAX_AMOUNTS)
    return emitOpError() << "expected at most " << TR_MAX_AMOUNTS << " amounts, found " << amounts;
  if (failed(verifyCount(*this, "flops", amounts, getFlops().size())) ||
      failed(verifyCount(*this, "bytes", amounts, getBytes().size())))
    return failure();
  return verifyCount(*this, "{} in the shape", amounts, getShape().count("{}"));
}

LogicalResult WorkOp::canonicalize(WorkOp op, PatternRewriter &rewriter) {
  if (isa<scf::ForallOp, scf::ParallelOp>(op->getParentOp()) ||
      isa_and_nonnull<gpu::LaunchOp, gpu::LaunchFuncOp>(op->getNextNode()))
    return failure();
  rewriter.eraseOp(op);
  return success();
}

LogicalResult CountTokensOp::verify() {
  return verifyBuffer(*this, "a mask", getMask(), i64(*this), {kAny, kAny});
}

LogicalResult PackTokensOp::verify() {
  if (failed(verifyKernel(*this, 2 + getInputs().size())) ||
      failed(verifyBuffer(*this, "a mask", getMask(), i64(*this), {kAny, kAny})) ||
      failed(verifyBuffer(*this, "offsets", getOuts()[0], index(*this), {kAny})) ||
      failed(verifyBuffer(*this, "places", getOuts()[1], index(*this), {kAny})))
    return failure();
  for (auto [i, input] : llvm::enumerate(getInputs()))
    if (failed(verifyBuffer(*this, "input " + Twine(i), input, i64(*this), {kAny, kAny})) ||
        failed(
            verifyBuffer(*this, "packed input " + Twine(i), getOuts()[2 + i], i64(*this), {kAny})))
      return failure();
  return success();
}

template <typename OpTy> static LogicalResult verifyLabels(OpTy op) {
  if (failed(verifyBuffer(op, "labels", op.getLabels(), i64(op), {kAny, kAny})))
    return failure();
  return verifyBuffer(op, "a mask", op.getMask(), i64(op), {kAny, kAny});
}

LogicalResult CountLabelledTokensOp::verify() { return verifyLabels(*this); }

LogicalResult LabelledTokensOp::verify() {
  if (failed(verifyKernel(*this, 2)) || failed(verifyLabels(*this)) ||
      failed(verifyBuffer(*this, "offsets", getOuts()[0], index(*this), {kAny})))
    return failure();
  return verifyBuffer(*this, "counted labels", getOuts()[1], i64(*this), {kAny});
}

LogicalResult UniformSequencesOp::verify() {
  if (failed(verifyKernel(*this, 2)) ||
      failed(verifyBuffer(*this, "offsets", getOuts()[0], index(*this), {kAny})))
    return failure();
  if (static_cast<int64_t>(getLength()) < 1)
    return emitOpError() << "expected length >= 1, found " << static_cast<int64_t>(getLength());
  return verifyBuffer(*this, "places", getOuts()[1], index(*this), {kAny});
}

LogicalResult TokenColumnsOp::verify() {
  if (failed(verifyKernel(*this, 1)) ||
      failed(verifyBuffer(*this, "places", getRows(), index(*this), {kAny})))
    return failure();
  return verifyBuffer(*this, "an out", getOuts()[0], i64(*this), {kAny});
}

PatchesOp::Sizes PatchesOp::sizes() {
  ArrayRef<int64_t> shape = cast<ShapedType>(getX().getType()).getShape(), sizes = getSizes();
  bool image = sizes.size() == 2;
  return {shape[1], image ? shape[2] : 1, shape.back(), image ? sizes[0] : 1, sizes.back()};
}

LogicalResult PatchesOp::verify() {
  if (failed(verifyKernel(*this, 1)) ||
      failed(verifyBuffer(*this, "places", getRows(), index(*this), {kAny})))
    return failure();
  auto type = cast<ShapedType>(getX().getType());
  ArrayRef<int64_t> shape = type.getShape().drop_front();
  if (type.getElementType() != f32(*this) || (shape.size() != 2 && shape.size() != 3) ||
      getSizes().size() + 1 != shape.size() || llvm::any_of(shape, ShapedType::isDynamic))
    return emitOpError() << "expected x of items of a static shape with a size for each but its "
                            "first dimension, found "
                         << type;
  for (auto [dim, size] : llvm::zip_equal(shape.drop_front(), getSizes()))
    if (size < 1 || size > dim)
      return emitOpError() << "expected sizes in [1, " << dim << "], found " << size;
  Sizes of = sizes();
  return verifyBuffer(*this, "an out", getOuts()[0], f32(*this),
                      {kAny, of.channels * of.down * of.across});
}

LogicalResult WindowsOp::verify() {
  if (failed(verifyKernel(*this, 1)))
    return failure();
  FailureOr<int64_t> width = verifyRows(*this, "x", getX());
  FailureOr<int64_t> result = verifyRows(*this, "an out", getOuts()[0]);
  if (failed(width) || failed(result) ||
      failed(verifyBuffer(*this, "offsets", getCu(), index(*this), {kAny})) ||
      failed(verifyBuffer(*this, "offsets of the result", getCuResult(), index(*this), {kAny})))
    return failure();
  if (*result % *width)
    return emitOpError() << "expected an out of whole rows of " << *width << ", found " << *result;
  return success();
}

LogicalResult UnpackTokensOp::verify() {
  if (failed(verifyKernel(*this, 1)))
    return failure();
  FailureOr<int64_t> width = verifyRows(*this, "x", getX());
  if (failed(width) || failed(verifyBuffer(*this, "places", getRows(), index(*this), {kAny})))
    return failure();
  if (!getColumn())
    return verifyBuffer(*this, "an out", getOuts()[0], f32(*this), {kAny, kAny, *width});
  if (*getColumn() >= static_cast<uint64_t>(*width))
    return emitOpError() << "expected a column in [0, " << *width << "), found "
                         << static_cast<int64_t>(*getColumn());
  return verifyBuffer(*this, "an out", getOuts()[0], f32(*this), {kAny, kAny});
}

LogicalResult FirstTokenOp::verify() {
  if (failed(verifyKernel(*this, 1)) || failed(verifyRowsAndOut(*this, "x", getX(), getOuts()[0])))
    return failure();
  return verifyBuffer(*this, "offsets", getCu(), index(*this), {kAny});
}

LogicalResult EmbeddingOp::verify() {
  if (failed(verifyKernel(*this, 1)))
    return failure();
  if (getIds().empty())
    return emitOpError() << "expected at least one table, found none";
  if (failed(verifyCount(*this, "tables, one for each ids", getIds().size(), getTables().size())) ||
      failed(verifyCount(*this, "scales, one for each table", getIds().size(), getScales().size())))
    return failure();
  FailureOr<int64_t> width = verifyRows(*this, "an out", getOuts()[0]);
  if (failed(width))
    return failure();
  for (auto [i, ids, table] : llvm::enumerate(getIds(), getTables()))
    if (failed(verifyBuffer(*this, "ids " + Twine(i), ids, i64(*this), {kAny})) ||
        failed(verifyBuffer(*this, "table " + Twine(i), table, f32(*this), {kAny, *width})))
      return failure();
  if (getNorm().empty() == static_cast<bool>(getFormula()))
    return emitOpError() << "norm and its formula stand together";
  if (getNorm().empty())
    return success();
  if (getNorm().size() != 2)
    return emitOpError() << "expected norm of gamma and beta, found " << getNorm().size()
                         << " operands";
  if (failed(verifyBuffer(*this, "gamma", getNorm()[0], f32(*this), {*width})))
    return failure();
  return verifyBuffer(*this, "beta", getNorm()[1], f32(*this), {*width});
}

LogicalResult LayerNormOp::verify() {
  if (failed(verifyKernel(*this, std::clamp<size_t>(getOuts().size(), 1, 3))))
    return failure();
  if (getResidual().size() > 1)
    return emitOpError() << "expected at most one residual, found " << getResidual().size();
  FailureOr<int64_t> width = verifyRows(*this, "x", getX());
  if (failed(width))
    return failure();
  bool parts = getRms() && getResidual().empty();
  if (failed(verifyBuffer(*this, "gamma", getGamma(), f32(*this), {parts ? kAny : *width})))
    return failure();
  if (int64_t part = cast<ShapedType>(getGamma().getType()).getDimSize(0);
      part < 1 || *width % part)
    return emitOpError() << "expected gamma of a width that divides " << *width << ", found "
                         << part;
  if (getRms() == static_cast<bool>(getBeta()))
    return emitOpError() << "expected beta, or rms without it";
  if (getRms() && (getNorm().getUnbiased() || getNorm().getEpsOutside()))
    return emitOpError() << "a root mean square takes eps alone, found " << getNorm();
  if (getBeta() && failed(verifyBuffer(*this, "beta", getBeta(), f32(*this), {*width})))
    return failure();
  for (Value residual : getResidual())
    if (failed(verifyBuffer(*this, "a residual", residual, f32(*this), {kAny, *width})))
      return failure();
  if (Value sum = getSum();
      sum && failed(verifyBuffer(*this, "the sum", sum, f32(*this), {kAny, *width})))
    return failure();
  if (getOuts().size() > 1 + (getSum() ? 1 : 0) + (getRounded() ? 1 : 0))
    return emitOpError() << "expected the third out rounded, found " << getOuts()[2].getType();
  for (Value out : getOuts())
    if (failed(verifyRoundedOut(*this, out, {kAny, *width})))
      return failure();
  return success();
}

Value LayerNormOp::getRounded() {
  Value last = getOuts().back();
  return getOuts().size() > 1 && isRounded(getElementTypeOrSelf(last)) ? last : Value();
}

Value LayerNormOp::getSum() {
  return getOuts().size() > (getRounded() ? 2 : 1) ? getOuts()[1] : Value();
}

LogicalResult transformer::kernel::verifyBias(Operation *op, Value value, int64_t heads) {
  if (!value)
    return success();
  auto bias = cast<ShapedType>(value.getType());
  bool table = bias.getRank() != 1;
  if (table && (bias.getRank() != 2 || bias.isDynamicDim(1) || bias.getDimSize(1) % 2 == 0))
    return op->emitOpError()
           << "expected a position_bias of [heads] or [heads, P] with an odd P, found " << bias;
  return verifyBuffer(op, "position_bias", value, f32(op),
                      table ? ArrayRef<int64_t>{heads, kAny} : ArrayRef<int64_t>{heads});
}

LogicalResult transformer::kernel::verifyScores(Operation *op, Value queryScores, Value keyScores,
                                                Value columns, int64_t heads, int64_t kvHeads) {
  if (static_cast<bool>(columns) != (queryScores || keyScores))
    return op->emitOpError() << "expected columns beside query_scores or key_scores";
  if (columns &&
      failed(verifyBuffer(op, "columns", columns, IntegerType::get(op->getContext(), 32), {kAny})))
    return failure();
  for (auto [what, scores, count] : {std::tuple("query_scores", queryScores, heads),
                                     std::tuple("key_scores", keyScores, kvHeads)}) {
    if (!scores)
      continue;
    FailureOr<int64_t> width = verifyRows(op, what, scores);
    if (failed(width))
      return failure();
    if (*width % count)
      return op->emitOpError() << "expected " << what << " of " << count
                               << " heads, found a width of " << *width;
  }
  return success();
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyKernel(*this, getOuts().size() == 2 ? 2 : 1)))
    return failure();
  auto ofQ = cast<ShapedType>(getQ().getType());
  Type element = isHalf(ofQ.getElementType()) ? ofQ.getElementType() : f32(*this);
  bool writesSame = getElementTypeOrSelf(getOuts()[0]) == element;
  Type ofResult = writesSame ? element : f32(*this);
  FailureOr<int64_t> width = verifyRows(*this, "q", getQ(), element);
  if (failed(width))
    return failure();
  int64_t heads = getNumHeads(), kvHeads = getNumKvHeads();
  if (heads < 1 || *width % heads)
    return emitOpError() << "expected num_heads that divides the width " << *width << ", found "
                         << heads;
  if (kvHeads < 1 || heads % kvHeads)
    return emitOpError() << "expected num_kv_heads that divides num_heads = " << heads << ", found "
                         << kvHeads;
  if (getScaleFactor().size() > 1)
    return emitOpError() << "expected at most one scale_factor, found " << getScaleFactor().size();
  int64_t headDim = *width / heads, kvWidth = kvHeads * headDim;
  if (failed(verifyBuffer(*this, "k", getK(), element, {kAny, kvWidth})) ||
      failed(verifyBuffer(*this, "v", getV(), element, {kAny, kvWidth})) ||
      failed(verifyBuffer(*this, "offsets of the queries", getCuQueries(), index(*this), {kAny})) ||
      failed(verifyBuffer(*this, "offsets of the keys", getCuKeys(), index(*this), {kAny})) ||
      failed(verifyBuffer(*this, "out 0", getOuts()[0], ofResult, {kAny, *width})))
    return failure();
  if (getOuts().size() == 2 &&
      failed(verifyBuffer(*this, "log_sum_exp", getOuts()[1], f32(*this), {kAny, heads})))
    return failure();
  if (failed(verifyBias(*this, getPositionBias(), heads)))
    return failure();
  return verifyScores(*this, getQueryScores(), getKeyScores(), getColumns(), heads, kvHeads);
}

LogicalResult transformer::kernel::verifyScoredRows(Operation *op, Value x, Value table,
                                                    int64_t heads) {
  FailureOr<int64_t> width = verifyRows(op, "x", x);
  if (failed(width))
    return failure();
  if (heads < 1 || *width % heads)
    return op->emitOpError() << "expected num_heads that divides the width " << *width << ", found "
                             << heads;
  if (failed(verifyBuffer(op, "a table", table, f32(op), {kAny, *width})))
    return failure();
  auto type = cast<ShapedType>(table.getType());
  if (type.isDynamicDim(0))
    return op->emitOpError() << "expected a table of a static number of rows, found " << type;
  return success();
}

LogicalResult RelativeScoresOp::verify() {
  int64_t heads = getNumHeads();
  if (failed(verifyKernel(*this, 1)) || failed(verifyScoredRows(*this, getX(), getTable(), heads)))
    return failure();
  int64_t positions = cast<ShapedType>(getTable().getType()).getDimSize(0);
  return verifyBuffer(*this, "an out", getOuts()[0], f32(*this), {kAny, heads * positions});
}

/// Sequences in pages; `width` is the cache's.
static LogicalResult verifyPages(Operation *op, Value cache, Value cu, Value table, Value lengths,
                                 int64_t width) {
  auto type = cast<ShapedType>(cache.getType());
  Type element = isHalf(type.getElementType()) ? type.getElementType() : f32(op);
  if (failed(verifyBuffer(op, "a cache", cache, element, {kAny, kAny, width})) ||
      failed(verifyBuffer(op, "offsets", cu, index(op), {kAny})) ||
      failed(verifyBuffer(op, "a table", table, i64(op), {kAny, kAny})) ||
      failed(verifyBuffer(op, "lengths", lengths, i64(op), {kAny})))
    return failure();
  if (type.isDynamicDim(1) || type.getDimSize(1) % 2)
    return op->emitOpError() << "expected a cache with a static, even number of rows a page, found "
                             << type;
  return success();
}

LogicalResult AppendPagesOp::verify() {
  if (failed(verifyKernel(*this, 1)))
    return failure();
  Type ofCache = getElementTypeOrSelf(getOuts()[0]);
  Type element = isHalf(ofCache) ? ofCache : f32(*this);
  FailureOr<int64_t> width = verifyRows(*this, "k", getK(), element);
  if (failed(width) || failed(verifyBuffer(*this, "v", getV(), element, {kAny, *width})))
    return failure();
  if (getNumHeads() < 1 || *width % static_cast<int64_t>(getNumHeads()))
    return emitOpError() << "expected num_heads that divides the width " << *width << ", found "
                         << static_cast<int64_t>(getNumHeads());
  return verifyPages(*this, getOuts()[0], getCu(), getTable(), getLengths(), *width);
}

LogicalResult PagedAttentionOp::verify() {
  if (failed(verifyKernel(*this, 1)))
    return failure();
  Type element = getElementTypeOrSelf(getQ());
  if (!isHalf(element) || element != getElementTypeOrSelf(getCache()))
    element = f32(*this);
  Type ofResult = getElementTypeOrSelf(getOuts()[0]) == element ? element : f32(*this);
  FailureOr<int64_t> width = verifyRows(*this, "q", getQ(), element);
  if (failed(width))
    return failure();
  int64_t heads = getNumHeads(), kvHeads = getNumKvHeads();
  if (heads < 1 || *width % heads || kvHeads < 1 || heads % kvHeads)
    return emitOpError() << "expected num_heads that divides the width " << *width
                         << " and num_kv_heads that divides it, found " << heads << " and "
                         << kvHeads;
  if (failed(verifyPages(*this, getCache(), getCu(), getTable(), getLengths(),
                         kvHeads * (*width / heads))) ||
      failed(verifyBuffer(*this, "an out", getOuts()[0], ofResult, {kAny, *width})))
    return failure();
  return verifyBias(*this, getPositionBias(), heads);
}

LogicalResult SinusoidalTableOp::verify() {
  if (failed(verifyKernel(*this, 1)))
    return failure();
  return verifyRows(*this, "an out", getOuts()[0]);
}

LogicalResult RotaryTableOp::verify() {
  if (failed(verifyKernel(*this, 1)) ||
      failed(verifyBuffer(*this, "positions", getPositions(), i64(*this), {kAny})))
    return failure();
  FailureOr<int64_t> width = verifyRows(*this, "an out", getOuts()[0]);
  if (failed(width))
    return failure();
  if (*width % 2)
    return emitOpError() << "expected an out of even width, found " << *width;
  return verifyBuffer(*this, "frequencies", getFrequencies(), Float64Type::get(getContext()),
                      {*width / 2});
}

LogicalResult RotaryEmbeddingOp::verify() {
  if (failed(verifyKernel(*this, 1)))
    return failure();
  FailureOr<int64_t> width = verifyRows(*this, "x", getX());
  FailureOr<int64_t> rotated = verifyRows(*this, "a table", getTable());
  if (failed(width) || failed(rotated))
    return failure();
  int64_t heads = getNumHeads();
  if (heads < 1 || *width % heads)
    return emitOpError() << "expected num_heads that divides the width " << *width << ", found "
                         << heads;
  if (*rotated % 2 || *rotated > *width / heads)
    return emitOpError() << "expected a table of an even width of at most " << *width / heads
                         << ", found " << *rotated;
  return verifyRoundedOut(*this, getOuts()[0], {kAny, *width});
}
