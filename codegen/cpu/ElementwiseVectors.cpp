//===- ElementwiseVectors.cpp - elementwise ops on vectors ----------------===//
//
// Left to LLVM, a loop over several buffers stays scalar: it would have to compare each with each
// before it knows that they do not overlap.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/ElementwiseVectors.h"
#include "codegen/cpu/nests/NestWork.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Whether an operand has elements for each column; else it is the same for all.
bool hasColumns(linalg::LinalgOp op, OpOperand &operand) {
  return isa<MemRefType>(operand.get().getType()) &&
         op.getMatchingIndexingMap(&operand).isFunctionOfDim(op.getNumLoops() - 1);
}

/// Whether an input is the same for all columns, or an operand has them side by side.
bool fits(linalg::LinalgOp op, OpOperand &operand) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  if (!map.isProjectedPermutation())
    return false;
  if (!hasColumns(op, operand))
    return isa<FloatType>(getElementTypeOrSelf(operand.get())) && !op.isDpsInit(&operand);
  auto type = cast<MemRefType>(operand.get().getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  return map.getResults().back() == getAffineDimExpr(op.getNumLoops() - 1, op.getContext()) &&
         type.getElementType().isF32() && succeeded(type.getStridesAndOffset(strides, offset)) &&
         strides.back() == 1;
}

bool isElementwise(linalg::LinalgOp op) {
  if (op.getNumLoops() == 0 || op.getNumParallelLoops() != op.getNumLoops() ||
      op->getNumRegions() != 1 || ShapedType::isDynamic(op.getStaticLoopRanges().back()))
    return false;
  auto isOnF32 = [](Operation &inner) {
    return inner.hasTrait<OpTrait::ConstantLike>() ||
           (OpTrait::hasElementwiseMappableTraits(&inner) && inner.getNumRegions() == 0);
  };
  return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) { return fits(op, operand); }) &&
         llvm::all_of(op->getRegion(0).front().without_terminator(), isOnF32);
}

/// Whether the op goes through more than the second-level cache holds, as an optimizer does.
bool isOfMemory(linalg::LinalgOp op, cpu::TargetAttr target) {
  int64_t bytes = 0;
  for (OpOperand &operand : op->getOpOperands())
    if (auto type = dyn_cast<MemRefType>(operand.get().getType()); type && type.hasStaticShape())
      bytes += rowBytes(type.getNumElements());
  return bytes > target.getL2Bytes();
}

class Vectors {
public:
  /// `ahead`: how many columns it fetches ahead, 0: nothing; `level`: into which cache.
  Vectors(Emit &b, linalg::LinalgOp op, int64_t ahead, int64_t level)
      : b(b), op(op), ahead(ahead), level(level) {}

  void emit() {
    SmallVector<Range> ranges = op.createLoopRanges(b, op.getLoc());
    emitLoop(ArrayRef(ranges).drop_back());
  }

  void emit(Value row, Value column) {
    at = {row};
    emitColumns(column, b.lanes());
  }

private:
  void emitLoop(ArrayRef<Range> outer) {
    if (outer.empty())
      return emitRow();
    Value size = getValueOrCreateConstantIndexOp(b, op.getLoc(), outer.front().size);
    b.forEach(b.index(0), size, 1, [&](Value i) {
      at.push_back(i);
      emitLoop(outer.drop_front());
      at.pop_back();
    });
  }

  void emitRow() {
    int64_t width = op.getStaticLoopRanges().back(), lanes = b.lanes();
    int64_t whole = width / lanes * lanes;
    if (whole)
      b.forEach(b.index(0), b.index(whole), lanes,
                [&](Value column) { emitColumns(column, lanes); });
    if (whole < width)
      emitColumns(b.index(whole), width - whole);
  }

  void emitColumns(Value column, int64_t count) {
    SmallVector<Value> indices(at);
    indices.push_back(column);
    IRMapping map;
    Block &body = op->getRegion(0).front();
    auto place = [&](OpOperand &operand) {
      SmallVector<Value> result;
      for (AffineExpr dim : op.getMatchingIndexingMap(&operand).getResults())
        result.push_back(indices[cast<AffineDimExpr>(dim).getPosition()]);
      return result;
    };
    for (OpOperand &operand : op->getOpOperands()) {
      BlockArgument inside = op.getMatchingBlockArgument(&operand);
      if (inside.use_empty())
        continue;
      Value value = operand.get();
      if (hasColumns(op, operand)) {
        if (ahead)
          fetchAhead(value, place(operand));
        value = b.loadVector(value, place(operand), count);
      } else {
        value = spread(isa<MemRefType>(value.getType()) ? b.load(value, place(operand)) : value);
      }
      map.map(inside, value);
    }
    for (Operation &inner : body.without_terminator()) {
      if (inner.hasTrait<OpTrait::ConstantLike>()) {
        map.map(inner.getResult(0), spread(b.clone(inner)->getResult(0)));
        continue;
      }
      for (Value operand : inner.getOperands()) // from outside of the op
        if (!map.contains(operand))
          map.map(operand, spread(operand));
      SmallVector<Type> types;
      for (Type type : inner.getResultTypes())
        types.push_back(VectorType::get({b.lanes()}, type));
      Operation *clone = mlir::clone(b, &inner, types,
                                     llvm::map_to_vector(inner.getOperands(), [&](Value operand) {
                                       return map.lookup(operand);
                                     }));
      map.map(inner.getResults(), clone->getResults());
    }
    for (OpOperand &init : op.getDpsInitsMutable()) {
      unsigned number = init.getOperandNumber() - op.getNumDpsInputs();
      Value value = body.getTerminator()->getOperand(number);
      Value vector = map.contains(value) ? map.lookup(value) : spread(value);
      b.storeVector(vector, init.get(), place(init), count);
    }
  }

  void fetchAhead(Value memory, SmallVector<Value> place) {
    place.back() = b.add(place.back(), ahead);
    memref::PrefetchOp::create(b, memory, place, /*isWrite=*/false, /*localityHint=*/4 - level,
                               /*isDataCache=*/true);
  }

  Value spread(Value scalar) {
    auto type = VectorType::get({b.lanes()}, scalar.getType());
    return vector::BroadcastOp::create(b, type, scalar);
  }

  Emit &b;
  linalg::LinalgOp op;
  SmallVector<Value> at; // the rows' indices
  int64_t ahead, level;
};

} // namespace

bool mlir::transformer::emitVectors(Emit &b, linalg::LinalgOp op) {
  if (!isElementwise(op))
    return false;
  // The hardware follows several streams at once, but late: 1 to 4 KiB ahead AdamW takes 0.92 to
  // 0.95 of the time.
  constexpr int64_t fromMemory = 512; // columns, or those of the next row
  Vectors(b, op, isOfMemory(op, b.target) ? fromMemory : 0, /*level=*/1).emit();
  return true;
}

bool mlir::transformer::canEmitVectors(linalg::LinalgOp op) { return isElementwise(op); }

void mlir::transformer::emitVector(Emit &b, linalg::LinalgOp op, Value row, Value column) {
  // A product beside it goes through the first level meanwhile. Fetched into the second one, 256 to
  // 1024 columns ahead, products with AdamW's update take 0.9 to 1.0 of the time, most for long k.
  Vectors(b, op, /*ahead=*/512, /*level=*/2).emit(row, column);
}
