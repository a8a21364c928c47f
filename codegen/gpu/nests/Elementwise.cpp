//===- Elementwise.cpp - several neighbours a thread ----------------------===//
#include "codegen/gpu/nests/Blocks.h"
#include "codegen/gpu/nests/Kernels.h"
#include "codegen/gpu/nests/ProductOperands.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

namespace {

constexpr int64_t numbersOfThread = 4;
constexpr int64_t fewColumns = 64; // of which a thread takes one

bool isAligned(Value buffer) { return alignedNumbers(buffer, numbersOfThread) == numbersOfThread; }

/// What threads of an elementwise op have: neighbours where all results are at places for vectors,
/// else numbers that are a thread's share of a row apart, so that neighbouring threads have
/// neighbours.
class ElementwiseThreads {
public:
  ElementwiseThreads(Loops &b, linalg::LinalgOp op)
      : b(b), op(op), columns(rowWidth(op.getDpsInits().front())),
        areNeighbours(llvm::all_of(op.getDpsInits(), isAligned)),
        apart(areNeighbours ? 1 : llvm::divideCeil(columns, numbersOfThread)) {}

  void emit() {
    Values sizes;
    for (unsigned d = 0; d < op.getNumLoops(); ++d)
      sizes.push_back(b.dim(op.getDpsInits().front(), d));
    sizes.back() = b.index(llvm::divideCeil(columns, numbersOfThread));
    b.threads(sizes, [&](ValueRange at) {
      place(at);
      SmallVector<Values> operands;
      for (OpOperand &operand : op->getOpOperands())
        operands.push_back(op.payloadUsesValueFromOperand(&operand) ? read(&operand) : Values());
      SmallVector<Values> written(op.getNumDpsInits());
      for (int64_t e = 0; e < numbersOfThread; ++e) {
        Values results = compute(operands, e);
        for (auto [numbers, result] : llvm::zip_equal(written, results))
          numbers.push_back(result);
      }
      for (auto [numbers, out] : llvm::zip_equal(written, op.getDpsInits()))
        write(numbers, out);
    });
  }

private:
  void place(ValueRange at) {
    for (int64_t e = 0; e < numbersOfThread; ++e) {
      Values dims(at);
      dims.back() = areNeighbours ? b.add(b.mul(dims.back(), numbersOfThread), e)
                                  : b.add(dims.back(), e * apart);
      places.push_back(dims);
    }
    if (columns % numbersOfThread)
      lastIsThere = b.less(places.back().back(), b.index(columns));
  }

  bool mayBeMissing(int64_t e) const { return lastIsThere && e == numbersOfThread - 1; }

  Value readOne(OpOperand *operand, int64_t e) {
    Values at;
    for (AffineExpr each : op.getMatchingIndexingMap(operand).getResults())
      at.push_back(emitIndex(b, each, places[e]));
    if (!mayBeMissing(e))
      return b.load(operand->get(), at);
    Type element = cast<MemRefType>(operand->get().getType()).getElementType();
    Value none = arith::ConstantOp::create(b, b.getZeroAttr(element));
    return b.ifElse(
        lastIsThere, [&] { return Values{b.load(operand->get(), at)}; },
        [&] { return Values{none}; })[0];
  }

  Values read(OpOperand *operand) {
    Value buffer = operand->get();
    if (!isa<MemRefType>(buffer.getType()))
      return Values(numbersOfThread, buffer);
    AffineMap map = op.getMatchingIndexingMap(operand);
    if (areNeighbours)
      return loadNeighbours(b, buffer, map, places.front(), numbersOfThread);
    if (!map.isFunctionOfDim(op.getNumLoops() - 1))
      return Values(numbersOfThread, readOne(operand, 0));
    Values numbers;
    for (int64_t e = 0; e < numbersOfThread; ++e)
      numbers.push_back(readOne(operand, e));
    return numbers;
  }

  Values compute(ArrayRef<Values> operands, int64_t e) {
    IRMapping map;
    for (OpOperand &operand : op->getOpOperands())
      if (const Values &numbers = operands[operand.getOperandNumber()]; !numbers.empty())
        map.map(op.getMatchingBlockArgument(&operand), numbers[e]);
    for (Operation &inner : op.getBlock()->without_terminator()) {
      if (auto index = dyn_cast<linalg::IndexOp>(inner))
        map.map(index.getResult(), places[e][index.getDim()]);
      else
        b.clone(inner, map);
    }
    Values results;
    for (Value value : op.getBlock()->getTerminator()->getOperands())
      results.push_back(map.lookupOrDefault(value));
    return results;
  }

  void write(ValueRange numbers, Value out) {
    if (areNeighbours)
      return storeVector(b, numbers, out, places.front());
    for (int64_t e = 0; e < numbersOfThread; ++e) {
      auto store = [&] { b.store(numbers[e], out, places[e]); };
      mayBeMissing(e) ? b.ifThen(lastIsThere, store) : store();
    }
  }

  Loops &b;
  linalg::LinalgOp op;
  int64_t columns;
  bool areNeighbours;
  int64_t apart;
  SmallVector<Values> places;
  Value lastIsThere; // null: it is
};

} // namespace

bool transformer::simt::readsOtherPlaces(linalg::LinalgOp op) {
  return op.getBlock()
      ->walk([](Operation *inner) {
        bool reads = llvm::any_of(inner->getOperandTypes(), llvm::IsaPred<ShapedType>);
        return reads ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool transformer::simt::isElementwise(linalg::LinalgOp op) {
  auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
  if (!generic || generic.getNumDpsInits() == 0 || generic.getNumLoops() == 0 ||
      generic.getNumParallelLoops() != generic.getNumLoops() || !generic.hasPureBufferSemantics())
    return false;
  Value first = generic.getOutputs().front();
  auto type = cast<MemRefType>(first.getType());
  auto isWhole = [&](OpOperand &out) {
    return generic.getMatchingIndexingMap(&out).isIdentity() &&
           cast<MemRefType>(out.get().getType()).getShape() == type.getShape();
  };
  bool isWide = type.getRank() && !type.isDynamicDim(type.getRank() - 1) &&
                (rowWidth(first) >= fewColumns || llvm::all_of(generic.getOutputs(), isAligned));
  return isWide && llvm::all_of(generic.getDpsInitsMutable(), isWhole) && !readsOtherPlaces(op);
}

void transformer::simt::emitElementwise(Loops &b, linalg::LinalgOp op) {
  ElementwiseThreads(b, op).emit();
}
