//===- KernelOps.cpp - what a kernel's operands must be -------------------===//
#include "codegen/Winograd.h"
#include "codegen/kernels/KernelDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "runtime/ModuleAbi.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::transformer::kernel;

namespace {

constexpr int64_t kAny = ShapedType::kDynamic;

Type f32(Operation *op) { return Float32Type::get(op->getContext()); }
Type i64(Operation *op) { return IntegerType::get(op->getContext(), 64); }
Type index(Operation *op) { return IndexType::get(op->getContext()); }

/// The buffer `what` has this rank, element type and, where both are known,
/// these sizes.
LogicalResult verifyBuffer(Operation *op, const Twine &what, Value value, Type element,
                           ArrayRef<int64_t> shape) {
  auto type = cast<ShapedType>(value.getType());
  if (type.getElementType() == element && succeeded(verifyCompatibleShape(type.getShape(), shape)))
    return success();
  std::string expected;
  llvm::raw_string_ostream text(expected);
  for (int64_t size : shape)
    text << (ShapedType::isDynamic(size) ? "?" : std::to_string(size)) << "x";
  text << element;
  return op->emitOpError() << "expected " << what << " of " << expected << ", found " << type;
}

/// Rows `[T, W]` of a width that is known.
FailureOr<int64_t> verifyRows(Operation *op, const Twine &what, Value value) {
  auto type = cast<ShapedType>(value.getType());
  if (failed(verifyBuffer(op, what, value, f32(op), {kAny, kAny})))
    return failure();
  if (type.isDynamicDim(1))
    return op->emitOpError() << "expected " << what << " of a static width, found " << type;
  return type.getDimSize(1);
}

LogicalResult verifyCount(Operation *op, StringRef what, size_t expected, size_t found) {
  if (expected == found)
    return success();
  return op->emitOpError() << "expected " << expected << " " << what << ", found " << found;
}

/// All operands are tensors or all are memrefs; results follow from that by the
/// destination-style interface.
LogicalResult verifyKernel(Operation *op, size_t expectedOuts) {
  auto outs = cast<DestinationStyleOpInterface>(op).getDpsInitsMutable();
  if (failed(verifyCount(op, "outs", expectedOuts, outs.size())))
    return failure();
  bool tensors = isa<TensorType>(outs[0].get().getType());
  for (Value operand : op->getOperands())
    if (isa<ShapedType>(operand.getType()) && isa<TensorType>(operand.getType()) != tensors)
      return op->emitOpError() << "expected all operands on " << (tensors ? "tensors" : "memrefs")
                               << " like its outs, found " << operand.getType();
  return success();
}

} // namespace

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
  if (isa<scf::ForallOp>(op->getParentOp()))
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
  if (failed(verifyKernel(*this, 1)))
    return failure();
  FailureOr<int64_t> width = verifyRows(*this, "x", getX());
  if (failed(width) || failed(verifyBuffer(*this, "offsets", getCu(), index(*this), {kAny})))
    return failure();
  return verifyBuffer(*this, "an out", getOuts()[0], f32(*this), {kAny, *width});
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
  if (failed(verifyKernel(*this, getOuts().size() == 2 ? 2 : 1)))
    return failure();
  if (getResidual().size() > 1)
    return emitOpError() << "expected at most one residual, found " << getResidual().size();
  FailureOr<int64_t> width = verifyRows(*this, "x", getX());
  if (failed(width) || failed(verifyBuffer(*this, "gamma", getGamma(), f32(*this), {*width})))
    return failure();
  if (getRms() == static_cast<bool>(getBeta()))
    return emitOpError() << "expected beta, or rms without it";
  if (getRms() && (getNorm().getUnbiased() || getNorm().getEpsOutside()))
    return emitOpError() << "a root mean square takes eps alone, found " << getNorm();
  if (getBeta() && failed(verifyBuffer(*this, "beta", getBeta(), f32(*this), {*width})))
    return failure();
  for (Value residual : getResidual())
    if (failed(verifyBuffer(*this, "a residual", residual, f32(*this), {kAny, *width})))
      return failure();
  for (auto [i, out] : llvm::enumerate(getOuts()))
    if (failed(verifyBuffer(*this, "out " + Twine(i), out, f32(*this), {kAny, *width})))
      return failure();
  return success();
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyKernel(*this, getOuts().size() == 2 ? 2 : 1)))
    return failure();
  FailureOr<int64_t> width = verifyRows(*this, "q", getQ());
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
  if (failed(verifyBuffer(*this, "k", getK(), f32(*this), {kAny, kvWidth})) ||
      failed(verifyBuffer(*this, "v", getV(), f32(*this), {kAny, kvWidth})) ||
      failed(verifyBuffer(*this, "offsets of the queries", getCuQueries(), index(*this), {kAny})) ||
      failed(verifyBuffer(*this, "offsets of the keys", getCuKeys(), index(*this), {kAny})) ||
      failed(verifyBuffer(*this, "out 0", getOuts()[0], f32(*this), {kAny, *width})))
    return failure();
  if (getOuts().size() == 2 &&
      failed(verifyBuffer(*this, "log_sum_exp", getOuts()[1], f32(*this), {kAny, heads})))
    return failure();
  if (!getPositionBias())
    return success();
  auto bias = cast<ShapedType>(getPositionBias().getType());
  bool table = bias.getRank() != 1;
  if (table && (bias.getRank() != 2 || bias.isDynamicDim(1) || bias.getDimSize(1) % 2 == 0))
    return emitOpError()
           << "expected a position_bias of [heads] or [heads, P] with an odd P, found " << bias;
  return verifyBuffer(*this, "position_bias", getPositionBias(), f32(*this),
                      table ? ArrayRef<int64_t>{heads, kAny} : ArrayRef<int64_t>{heads});
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
  if (getFrequencies())
    return verifyBuffer(*this, "frequencies", getFrequencies(), f32(*this), {*width / 2});
  return success();
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
  return verifyBuffer(*this, "an out", getOuts()[0], f32(*this), {kAny, *width});
}

LogicalResult PackWeightOp::verify() {
  if (failed(verifyKernel(*this, 1)))
    return failure();
  auto panels = cast<ShapedType>(getOuts()[0].getType());
  SmallVector<int64_t> anyPanels = {kAny, kAny, kAny};
  if (getScales())
    anyPanels = {kAny, kAny, winograd::kStep, kAny};
  if (failed(verifyBuffer(*this, "panels", getOuts()[0], f32(*this), anyPanels)))
    return failure();
  if (!panels.hasStaticShape())
    return emitOpError() << "expected panels of static sizes, found " << panels;
  if (getWeights().empty())
    return emitOpError() << "expected at least one weight, found none";
  int64_t k = panels.getDimSize(1), columns = panels.getShape().back(), outputs = 0;
  unsigned outputDim = getLayout() == WeightLayout::OutIn ? 0 : 1;
  if (getScales()) {
    if (failed(verifyBuffer(*this, "weight 0", getWeights()[0], f32(*this), {kAny, kAny})))
      return failure();
    k = cast<ShapedType>(getWeights()[0].getType()).getDimSize(1 - outputDim);
    if (!ShapedType::isDynamic(k) && panels.getDimSize(1) != winograd::steps(k))
      return emitOpError() << "expected " << winograd::steps(k) << " steps for K = " << k
                           << ", found " << panels.getDimSize(1);
    if (failed(verifyBuffer(*this, "scales", getScales(), f32(*this), {k})))
      return failure();
  }
  for (auto [i, weight] : llvm::enumerate(getWeights())) {
    SmallVector<int64_t> shape = {k, k};
    shape[outputDim] = kAny;
    if (failed(verifyBuffer(*this, "weight " + Twine(i), weight, f32(*this), shape)))
      return failure();
    auto type = cast<ShapedType>(weight.getType());
    if (!type.hasStaticShape())
      return emitOpError() << "expected weight " << i << " of static sizes, found " << type;
    if (outputs % columns)
      return emitOpError() << "expected whole panels of " << columns << " outputs before weight "
                           << i << ", found " << outputs << " outputs";
    outputs += type.getDimSize(outputDim);
  }
  int64_t expected = llvm::divideCeil(outputs, columns);
  if (panels.getDimSize(0) != expected)
    return emitOpError() << "expected " << expected << " panels for " << outputs
                         << " outputs, found " << panels.getDimSize(0);
  return success();
}

LogicalResult EstimatedOp::verify() {
  FailureOr<int64_t> width = verifyRows(*this, "x", getX());
  if (failed(width))
    return failure();
  return verifyBuffer(*this, "squares", getSquares(), f32(*this), {*width});
}

LogicalResult SampleSquaresOp::verify() {
  if (failed(verifyKernel(*this, 1)))
    return failure();
  if (getDim() > 1)
    return emitOpError() << "expected dim 0 or 1, found " << getDim();
  if (failed(verifyBuffer(*this, "a matrix", getMatrix(), f32(*this), {kAny, kAny})))
    return failure();
  auto type = cast<ShapedType>(getMatrix().getType());
  if (!type.hasStaticShape())
    return emitOpError() << "expected a matrix of static sizes, found " << type;
  if (getFactors() && failed(verifyBuffer(*this, "factors", getFactors(), f32(*this),
                                          {type.getDimSize(1 - getDim())})))
    return failure();
  return verifyBuffer(*this, "an out", getOuts()[0], f32(*this), {type.getDimSize(getDim())});
}

LogicalResult WinogradScalesOp::verify() {
  if (failed(verifyKernel(*this, 1)))
    return failure();
  if (getWeights().empty())
    return emitOpError() << "expected at least one weight, found none";
  if (failed(verifyBuffer(*this, "an out", getOuts()[0], f32(*this), {kAny})))
    return failure();
  int64_t k = cast<ShapedType>(getOuts()[0].getType()).getDimSize(0);
  SmallVector<int64_t> shape = {k, k};
  shape[getLayout() == WeightLayout::OutIn ? 0 : 1] = kAny;
  for (auto [i, weight] : llvm::enumerate(getWeights())) {
    if (failed(verifyBuffer(*this, "weight " + Twine(i), weight, f32(*this), shape)))
      return failure();
    if (auto type = cast<ShapedType>(weight.getType()); !type.hasStaticShape())
      return emitOpError() << "expected weight " << i << " of static sizes, found " << type;
  }
  if (getSquares())
    return verifyBuffer(*this, "squares", getSquares(), f32(*this), {k});
  return success();
}

LogicalResult WinogradPanelsOp::verify() {
  if (failed(verifyKernel(*this, 1)) ||
      failed(verifyBuffer(*this, "panels", getPanels(), f32(*this), {kAny, kAny, kAny})))
    return failure();
  auto type = cast<ShapedType>(getPanels().getType());
  if (!type.hasStaticShape())
    return emitOpError() << "expected panels of static sizes, found " << type;
  if (failed(verifyBuffer(*this, "scales", getScales(), f32(*this), {type.getDimSize(1)})))
    return failure();
  return verifyBuffer(*this, "an out", getOuts()[0], f32(*this),
                      {type.getDimSize(0), winograd::steps(type.getDimSize(1)), winograd::kStep,
                       type.getDimSize(2)});
}

LogicalResult WinogradRowsOp::verify() {
  if (failed(verifyKernel(*this, 2)))
    return failure();
  FailureOr<int64_t> width = verifyRows(*this, "x", getX());
  if (failed(width) || failed(verifyBuffer(*this, "scales", getScales(), f32(*this), {*width})) ||
      failed(verifyRows(*this, "inverse scales", getOuts()[1])))
    return failure();
  return verifyBuffer(*this, "scaled rows", getOuts()[0], f32(*this),
                      {kAny, winograd::steps(*width), winograd::kStep});
}
