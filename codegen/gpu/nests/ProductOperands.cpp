//===- ProductOperands.cpp - what a matrix product multiplies -------------===//
#include "codegen/gpu/nests/ProductOperands.h"
#include "codegen/gpu/dialect/GpuDialect.h"
#include "codegen/gpu/nests/Blocks.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

Value transformer::simt::emitIndex(Loops &b, AffineExpr expression, ValueRange dims) {
  if (auto dim = dyn_cast<AffineDimExpr>(expression))
    return dims[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expression))
    return b.index(constant.getValue());
  auto binary = cast<AffineBinaryOpExpr>(expression);
  Value x = emitIndex(b, binary.getLHS(), dims), y = emitIndex(b, binary.getRHS(), dims);
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return b.add(x, y);
  case AffineExprKind::Mul:
    return b.mul(x, y);
  case AffineExprKind::FloorDiv:
    return b.div(x, y);
  default:
    return b.rem(x, y);
  }
}

Value transformer::simt::sizeOf(Loops &b, Value buffer, unsigned d) {
  int64_t size = cast<MemRefType>(buffer.getType()).getDimSize(d);
  return ShapedType::isDynamic(size) ? b.dim(buffer, d) : b.index(size);
}

bool transformer::simt::isWhole(Value count, int64_t tile) {
  std::optional<int64_t> size = getConstantIntValue(count);
  return size && *size % tile == 0;
}

arith::AddFOp transformer::simt::additionOf(linalg::LinalgOp op) {
  Block *body = op.getBlock();
  BlockArgument sum = body->getArguments().back();
  auto add = body->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  return add && sum.hasOneUse() && *sum.user_begin() == add ? add : arith::AddFOp();
}

ProductOperand::ProductOperand(linalg::LinalgOp op, Value factor) : op(op), factor(factor) {
  Block *body = op.getBlock();
  SmallVector<Value> pending = {factor};
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value); argument && argument.getOwner() == body)
      inputs.push_back(op.getMatchingOpOperand(argument));
    else if (Operation *inner = value.getDefiningOp(); inner && inner->getBlock() == body)
      if (slice.insert(inner))
        llvm::append_range(pending, inner->getOperands());
  }
  // Of bf16 or f16, what is widened to f32 is the same number.
  auto widened = factor.getDefiningOp<arith::ExtFOp>();
  isTf32 = !!factor.getDefiningOp<RoundTf32Op>();
  bool isNumber = slice.empty() || isTf32 || (widened && kernel::isHalf(widened.getIn().getType()));
  if (inputs.size() == 1 && slice.size() <= 1 && isNumber)
    stored = inputs.front();
}

bool ProductOperand::isMatrixOf(unsigned row, unsigned depth) {
  this->row = row;
  this->depth = depth;
  for (OpOperand *input : inputs)
    for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
      if (loop != row && loop != depth && op.getMatchingIndexingMap(input).isFunctionOfDim(loop))
        return false;
  for (Operation *inner : slice)
    if (auto index = dyn_cast<linalg::IndexOp>(inner);
        index && index.getDim() != row && index.getDim() != depth)
      return false;
  // Neither a vector, nor anything but rows or columns of a matrix.
  if (stored) {
    AffineMap map = op.getMatchingIndexingMap(stored);
    SmallVector<int64_t> strides;
    int64_t offset;
    auto buffer = dyn_cast<MemRefType>(stored->get().getType());
    if (map.getNumResults() != 2 || !map.isProjectedPermutation() ||
        (buffer && (failed(buffer.getStridesAndOffset(strides, offset)) || strides.back() != 1)))
      stored = nullptr;
  }
  findBytes();
  return !inputs.empty();
}

/// One input of bytes in the layout of a matrix.
void ProductOperand::findBytes() {
  packed = nullptr;
  for (OpOperand *input : inputs) {
    auto type = dyn_cast<MemRefType>(input->get().getType());
    AffineMap map = op.getMatchingIndexingMap(input);
    SmallVector<int64_t> strides;
    int64_t offset;
    if (!type || !type.getElementType().isInteger(8) || map.getNumResults() != 2 ||
        failed(type.getStridesAndOffset(strides, offset)) || strides.back() != 1)
      continue;
    MLIRContext *context = map.getContext();
    auto ofRow = getAffineDimExpr(row, context), ofDepth = getAffineDimExpr(depth, context);
    for (int64_t numbers : {1, 2}) {
      AffineExpr other = numbers == 1 ? ofDepth : ofDepth.floorDiv(numbers);
      if ((map.getResult(0) == ofRow && map.getResult(1) == other) ||
          (map.getResult(0) == other && map.getResult(1) == ofRow)) {
        packed = input;
        ofByte = numbers;
      }
    }
  }
}

FloatType ProductOperand::halfType() const {
  return stored ? simt::halfType(stored->get()) : FloatType();
}

FloatType ProductOperand::tensorType() const {
  if (stored && isTf32)
    return FloatTF32Type::get(stored->get().getContext());
  return halfType();
}

void ProductOperand::forgetTf32() {
  if (isTf32)
    stored = nullptr;
  isTf32 = false;
}

bool ProductOperand::hasBoxes() const { return halfType() && alignedRows(buffer(), 8) == 8; }

bool ProductOperand::isAlongDepth() const {
  OpOperand *input = stored ? stored : packed ? packed : inputs.front();
  AffineMap map = op.getMatchingIndexingMap(input);
  return map.getNumResults() && map.getResults().back().isFunctionOfDim(depth);
}

int64_t transformer::simt::alignedRows(Value buffer, int64_t most) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> strides;
  int64_t offset, numbers = most;
  if (type.getRank() == 0 || failed(type.getStridesAndOffset(strides, offset)) ||
      strides.pop_back_val() != 1)
    return 1;
  strides.push_back(offset);
  for (int64_t each : strides)
    while (numbers > 1 && (ShapedType::isDynamic(each) || each % numbers))
      numbers /= 2;
  return numbers;
}

int64_t transformer::simt::alignedNumbers(Value buffer, int64_t most) {
  auto type = cast<MemRefType>(buffer.getType());
  int64_t numbers = alignedRows(buffer, most);
  if (numbers > 1 && type.isDynamicDim(type.getRank() - 1))
    return 1;
  while (numbers > 1 && type.getShape().back() % numbers)
    numbers /= 2;
  return numbers;
}

Values transformer::simt::loadNeighbours(Loops &b, Value buffer, AffineMap map, ValueRange at,
                                         int64_t count) {
  auto column = static_cast<unsigned>(at.size()) - 1;
  auto place = [&](int64_t e) {
    Values dims(at), place;
    dims.back() = b.add(dims.back(), e);
    for (AffineExpr each : map.getResults())
      place.push_back(emitIndex(b, each, dims));
    return place;
  };
  auto isOfColumn = [&](AffineExpr each) { return each.isFunctionOfDim(column); };
  if (count == 1 || llvm::none_of(map.getResults(), isOfColumn))
    return Values(count, b.load(buffer, place(0)));
  if (map.getResults().back() == b.getAffineDimExpr(column) &&
      llvm::none_of(map.getResults().drop_back(), isOfColumn) &&
      alignedNumbers(buffer, count) == count)
    return loadVector(b, buffer, place(0), count);
  Values numbers;
  for (int64_t e = 0; e < count; ++e)
    numbers.push_back(b.load(buffer, place(e)));
  return numbers;
}

Values ProductOperand::dimsOf(Value row, Value depth) const {
  Values dims(op.getNumLoops());
  dims[this->row] = row;
  dims[this->depth] = depth;
  return dims;
}

Values ProductOperand::placeIn(Loops &b, OpOperand *input, Value row, Value depth) const {
  Values dims = dimsOf(row, depth), place;
  for (AffineExpr each : op.getMatchingIndexingMap(input).getResults())
    place.push_back(emitIndex(b, each, dims));
  return place;
}

Values ProductOperand::placeOf(Loops &b, Value row, Value depth) const {
  return placeIn(b, stored, row, depth);
}

Values ProductOperand::placeOfByte(Loops &b, Value row, Value depth) const {
  return placeIn(b, packed, row, depth);
}

Value ProductOperand::number(Loops &b, Value row, Value depth, Value byte) const {
  Values dims = dimsOf(row, depth);
  IRMapping map;
  for (OpOperand *input : inputs) {
    bool isGiven = byte && input == packed;
    map.map(op.getMatchingBlockArgument(input),
            isGiven ? byte : b.load(input->get(), placeIn(b, input, row, depth)));
  }
  for (Operation &inner : op.getBlock()->without_terminator()) {
    if (!slice.contains(&inner))
      continue;
    if (auto index = dyn_cast<linalg::IndexOp>(inner))
      map.map(index.getResult(), dims[index.getDim()]);
    else
      b.clone(inner, map);
  }
  return map.lookupOrDefault(factor);
}

Value ProductOperand::sizeOf(Loops &b, unsigned loop) const {
  for (OpOperand *input : inputs)
    if (auto d = op.getMatchingIndexingMap(input).getResultPosition(b.getAffineDimExpr(loop)))
      return simt::sizeOf(b, input->get(), *d);
  return Value();
}

std::optional<Product> transformer::simt::matchProduct(linalg::LinalgOp op) {
  if (op.getNumLoops() != 3)
    return std::nullopt;
  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  AffineMap places = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  arith::AddFOp addition = additionOf(op);
  Value sum = op.getBlock()->getArguments().back();
  Value term = addition.getLhs() == sum ? addition.getRhs() : addition.getLhs();
  auto product = term.getDefiningOp<arith::MulFOp>();
  if (!product || !product.getType().isF32() || places.getNumResults() != 2)
    return std::nullopt;
  auto loopOf = [&](unsigned i) { return cast<AffineDimExpr>(places.getResult(i)).getPosition(); };
  unsigned row = loopOf(0), column = loopOf(1), depth = reductions.front();
  ProductOperand left(op, product.getLhs()), right(op, product.getRhs());
  if (!left.isMatrixOf(row, depth))
    std::swap(left, right);
  if (!left.isMatrixOf(row, depth) || !right.isMatrixOf(column, depth))
    return std::nullopt;
  if (!left.tensorType() || left.tensorType() != right.tensorType())
    for (ProductOperand *operand : {&left, &right})
      operand->forgetTf32();
  return Product{left, right, op.getDpsInitOperand(0)->get(), depth, product};
}
