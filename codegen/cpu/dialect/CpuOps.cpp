//===- CpuOps.cpp - what the operands of a CPU's ops must be --------------===//
#include "codegen/cpu/dialect/CpuDialect.h"
#include "codegen/cpu/linear/Int4.h"
#include "codegen/cpu/linear/Integers.h"
#include "codegen/cpu/linear/Parts.h"
#include "codegen/cpu/linear/Winograd.h"
#include "codegen/kernels/KernelVerify.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::cpu;
using namespace mlir::transformer::kernel;

namespace {

/// Weights of `k` inputs whose outputs fill `panels` of `columns`, if it is said how many, one
/// behind the other.
LogicalResult verifyWeights(Operation *op, ValueRange weights, WeightLayout layout, int64_t k,
                            std::optional<int64_t> panels, int64_t columns) {
  unsigned outputDim = layout == WeightLayout::OutIn ? 0 : 1;
  int64_t outputs = 0;
  for (auto [i, weight] : llvm::enumerate(weights)) {
    SmallVector<int64_t> shape = {k, k};
    shape[outputDim] = kAny;
    if (failed(verifyBuffer(op, "weight " + Twine(i), weight, f32(op), shape)))
      return failure();
    auto type = cast<ShapedType>(weight.getType());
    if (!type.hasStaticShape())
      return op->emitOpError() << "expected weight " << i << " of static sizes, found " << type;
    if (outputs % columns)
      return op->emitOpError() << "expected whole panels of " << columns
                               << " outputs before weight " << i << ", found " << outputs
                               << " outputs";
    outputs += type.getDimSize(outputDim);
  }
  int64_t expected = llvm::divideCeil(outputs, columns);
  if (panels && *panels != expected)
    return op->emitOpError() << "expected " << expected << " panels for " << outputs
                             << " outputs, found " << *panels;
  return success();
}

/// The inputs of the first weight.
FailureOr<int64_t> verifyInputs(Operation *op, ValueRange weights, WeightLayout layout) {
  if (weights.empty())
    return op->emitOpError() << "expected at least one weight, found none";
  if (failed(verifyBuffer(op, "weight 0", weights[0], f32(op), {kAny, kAny})))
    return failure();
  auto type = cast<ShapedType>(weights[0].getType());
  if (!type.hasStaticShape())
    return op->emitOpError() << "expected weight 0 of static sizes, found " << type;
  return type.getDimSize(layout == WeightLayout::OutIn ? 1 : 0);
}

Type i32(Operation *op) { return IntegerType::get(op->getContext(), 32); }

/// Whether dimension `dim` of a type of `rank` is of numbers that are rounded or of float32; any
/// other rank has no parts.
bool hasParts(ShapedType type, unsigned dim, int64_t rank) {
  return type.getRank() != rank ||
         llvm::is_contained({parts::kRounded, parts::kFloat32}, type.getDimSize(dim));
}

/// `[R / n, S / n, parts, n, n]`, with a number of words that is known.
bool areRegisters(ShapedType type) {
  return type.getRank() == 5 && hasParts(type, 2, 5) && !type.isDynamicDim(1) &&
         !type.isDynamicDim(3) && type.getDimSize(3) == type.getDimSize(4);
}

/// Rows x and what they become, `[T, groups, group...]`.
template <typename OpTy>
LogicalResult verifyGroups(OpTy op, Type element, ArrayRef<int64_t> group) {
  if (failed(verifyKernel(op, 1)))
    return failure();
  FailureOr<int64_t> width = verifyRows(op, "x", op.getX());
  if (failed(width))
    return failure();
  SmallVector<int64_t> shape = {kAny, int64_t(llvm::divideCeil(*width, weightGroup))};
  llvm::append_range(shape, group);
  return verifyBuffer(op, "words", op.getOuts()[0], element, shape);
}

} // namespace

bool PackWeightOp::holdsInt4() {
  auto elementOf = [](Value value) { return cast<ShapedType>(value.getType()).getElementType(); };
  return elementOf(getOuts()[0]).isInteger(32) && getScales() && elementOf(getScales()).isBF16();
}

LogicalResult PackWeightOp::verify() {
  if (failed(verifyKernel(*this, 1)))
    return failure();
  FailureOr<int64_t> k = verifyInputs(*this, getWeights(), getLayout());
  if (failed(k))
    return failure();
  auto panels = cast<ShapedType>(getOuts()[0].getType());
  Type element = panels.getElementType();
  if (!element.isF32() && !element.isBF16() && !element.isInteger(8) && !element.isInteger(32))
    return emitOpError() << "expected panels of f32, bf16, i8 or i32, found " << panels;
  bool isInt4 = holdsInt4(), isPairs = element.isInteger(32) && !getScales();
  bool isWords = element.isInteger(32) && !isInt4 && !isPairs;
  bool isInt8 = element.isInteger(8) || isWords;
  SmallVector<int64_t> shape = {kAny, *k, kAny};
  int64_t groups = llvm::divideCeil(*k, weightGroup);
  if (isPairs)
    shape.assign(panels.getRank() == 4 ? 4 : 3, kAny);
  else if (isInt4)
    shape = {kAny, groups, int4::kWords, kAny};
  else if (isWords)
    shape = {kAny, groups, integers::kWords, kAny};
  else if (getScales() && element.isF32())
    shape = {kAny, winograd::steps(*k), winograd::kStep, kAny};
  if (failed(verifyBuffer(*this, "panels", getOuts()[0], element, shape)))
    return failure();
  if (!panels.hasStaticShape())
    return emitOpError() << "expected panels of static sizes, found " << panels;
  if (isPairs && (2 * panels.getDimSize(panels.getRank() - 2) < *k || !hasParts(panels, 1, 4)))
    return emitOpError() << "expected panels of words for " << *k << " inputs, found " << panels;
  int64_t count = panels.getDimSize(0), columns = panels.getShape().back();
  if ((isInt8 || isInt4) != !!getScales() && !element.isF32())
    return emitOpError() << "expected " << (getScales() ? "no scales" : "scales") << " for "
                         << element;
  if (isInt8 && failed(verifyBuffer(*this, "scales", getScales(), f32(*this), {count, 1, columns})))
    return failure();
  if (isInt4 && failed(verifyBuffer(*this, "scales", getScales(), BFloat16Type::get(getContext()),
                                    {count, groups, columns})))
    return failure();
  if (getScales() && element.isF32() &&
      failed(verifyBuffer(*this, "scales", getScales(), f32(*this), {*k})))
    return failure();
  if (getFirst() && (isInt8 || isInt4))
    return emitOpError() << "expected all panels of integers at once, found " << panels;
  return verifyWeights(*this, getWeights(), getLayout(), *k,
                       getFirst() ? std::nullopt : std::optional(count), columns);
}

LogicalResult SplitPanelsOp::verify() {
  if (failed(verifyKernel(*this, 1)) ||
      failed(verifyBuffer(*this, "panels", getPanels(), f32(*this), {kAny, kAny, kAny})))
    return failure();
  auto panels = cast<ShapedType>(getPanels().getType()),
       parts = cast<ShapedType>(getOuts()[0].getType());
  for (ShapedType type : {panels, parts})
    if (!type.hasStaticShape())
      return emitOpError() << "expected panels of static sizes, found " << type;
  int64_t count = getFirst() ? kAny : panels.getDimSize(0), columns = panels.getDimSize(2);
  if (failed(verifyBuffer(*this, "parts", getOuts()[0], i32(*this),
                          {count, parts::kFloat32, kAny, columns})))
    return failure();
  if (getWord() && !getFirst())
    return emitOpError("expected a first panel with a first word");
  if (getInside() && !getWord())
    return emitOpError("expected a first word of words that are inside");
  if (!getWord() && 2 * parts.getDimSize(2) < panels.getDimSize(1))
    return emitOpError() << "expected parts of words for " << panels.getDimSize(1)
                         << " inputs, found " << parts;
  return success();
}

LogicalResult WeightGradientOp::verify() {
  if (failed(verifyKernel(*this, 3 + getWinograd() + 2 * getSquares())))
    return failure();
  auto c = cast<ShapedType>(getOuts()[0].getType());
  if (failed(verifyBuffer(*this, "c", getOuts()[0], f32(*this), {kAny, kAny})))
    return failure();
  if (!c.hasStaticShape())
    return emitOpError() << "expected c of static sizes, found " << c;
  SmallVector<int64_t> widths(c.getShape());
  bool takesWords = getElementTypeOrSelf(getOuts()[1]).isInteger() && !getMatrices();
  auto verifyFactor = [&](StringRef name, Value factor, int64_t width) {
    return takesWords && getElementTypeOrSelf(factor).isInteger()
               ? verifyWords(*this, name, factor, width)
               : verifyBuffer(*this, name, factor, f32(*this), {kAny, width});
  };
  if (failed(verifyFactor("a", getA(), widths[0])) || failed(verifyFactor("b", getB(), widths[1])))
    return failure();
  if (getElementTypeOrSelf(getOuts()[1]) != getElementTypeOrSelf(getOuts()[2]))
    return emitOpError("expected scratch of one element type");
  int64_t tiles = 1;
  for (auto [scratch, width] : llvm::zip_equal(getOuts().slice(1, 2), widths)) {
    auto type = cast<ShapedType>(scratch.getType());
    bool isRegisters = getMatrices() && scratch == getOuts()[1];
    int64_t rank = isRegisters ? 5 : getMatrices() ? 4 : 3;
    unsigned ofColumns = isRegisters ? 3 : rank - 1;
    if (type.getRank() != rank || type.isDynamicDim(ofColumns) ||
        !hasParts(type, isRegisters ? 2 : 1, isRegisters ? 5 : 4) ||
        type.getDimSize(0) !=
            static_cast<int64_t>(llvm::divideCeil(width, type.getDimSize(ofColumns))))
      return emitOpError() << "expected scratch for " << width << " columns, found " << type;
    tiles *= type.getDimSize(0);
  }
  if (getWinograd() && failed(verifyBuffer(*this, "scales", getOuts()[3], f32(*this), {kAny})))
    return failure();
  if (!getSquares())
    return success();
  ValueRange squares = getOuts().take_back(2);
  if (failed(verifyBuffer(*this, "squares", squares[0], f32(*this), {})))
    return failure();
  return verifyBuffer(*this, "squares of tiles", squares[1], f32(*this), {tiles});
}

LogicalResult WeightScalesOp::verify() {
  if (failed(verifyKernel(*this, 1)))
    return failure();
  FailureOr<int64_t> k = verifyInputs(*this, getWeights(), getLayout());
  if (failed(k))
    return failure();
  if (getFormat() == WeightFormat::Bf16)
    return emitOpError() << "expected int8 or int4, which have scales, found bf16";
  bool isInt8 = getFormat() == WeightFormat::Int8;
  Type element = isInt8 ? f32(*this) : BFloat16Type::get(getContext());
  int64_t groups = isInt8 ? 1 : llvm::divideCeil(*k, weightGroup);
  if (failed(verifyBuffer(*this, "scales", getOuts()[0], element, {kAny, groups, kAny})))
    return failure();
  auto type = cast<ShapedType>(getOuts()[0].getType());
  if (!type.hasStaticShape())
    return emitOpError() << "expected scales of static sizes, found " << type;
  return verifyWeights(*this, getWeights(), getLayout(), *k, type.getDimSize(0),
                       type.getDimSize(2));
}

LogicalResult Int4RowsOp::verify() {
  return verifyGroups(*this, f32(*this), {int4::kWords, int4::kPlaces});
}

LogicalResult IntegerRowsOp::verify() {
  return verifyGroups(*this, i32(*this), {integers::kPlaces});
}

LogicalResult Bfloat16RowsOp::verify() {
  if (failed(verifyKernel(*this, 1)))
    return failure();
  FailureOr<int64_t> width = verifyRows(*this, "x", getX());
  if (failed(width))
    return failure();
  auto words = cast<ShapedType>(getOuts()[0].getType());
  bool isRegisters = words.getRank() == 5;
  SmallVector<int64_t> shape(isRegisters ? 5 : 2, kAny);
  if (failed(verifyBuffer(*this, "words", getOuts()[0], i32(*this), shape)))
    return failure();
  int64_t ofRow = words.getShape().back();
  if (isRegisters)
    ofRow = areRegisters(words) ? ofRow * words.getDimSize(1) : 0;
  if (ShapedType::isDynamic(ofRow) || 2 * ofRow < *width)
    return emitOpError() << "expected words for " << *width << " features, found "
                         << getOuts()[0].getType();
  return success();
}

LogicalResult MultiplyMatricesOp::verify() {
  if (failed(verifyKernel(*this, 1)))
    return failure();
  auto x = cast<ShapedType>(getX().getType());
  if (failed(verifyBuffer(*this, "x", getX(), i32(*this), SmallVector<int64_t>(5, kAny))))
    return failure();
  if (!areRegisters(x))
    return emitOpError() << "expected x in registers, found " << x;
  int64_t size = x.getDimSize(4), steps = x.getDimSize(1) * size;
  if (failed(verifyBuffer(*this, "panel", getPanel(), i32(*this),
                          {1, x.getDimSize(2), steps, kAny})) ||
      failed(verifyBuffer(*this, "sums", getOuts()[0], f32(*this), {kAny, 1, kAny})))
    return failure();
  auto sums = cast<ShapedType>(getOuts()[0].getType());
  int64_t rows = sums.getDimSize(0), columns = sums.getDimSize(2);
  if (!sums.hasStaticShape() || rows != columns || rows != 2 * size ||
      cast<ShapedType>(getPanel().getType()).getDimSize(3) != columns)
    return emitOpError() << "expected sums of two registers by two, as wide as the panel, found "
                         << sums << " and " << getPanel().getType();
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
