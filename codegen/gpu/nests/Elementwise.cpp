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

bool dependsOn(AffineExpr expression, unsigned dim) { return expression.isFunctionOfDim(dim); }

/// An element's operand at `count` neighbours from `dims` on.
Values read(Loops &b, OpOperand *operand, AffineMap map, ValueRange dims, int64_t count) {
  Value buffer = operand->get();
  if (!isa<MemRefType>(buffer.getType()))
    return Values(count, buffer);
  auto column = static_cast<unsigned>(dims.size()) - 1;
  auto load = [&](int64_t e) {
    Values moved(dims), place;
    moved.back() = b.add(moved.back(), e);
    for (AffineExpr each : map.getResults())
      place.push_back(emitIndex(b, each, moved));
    return place;
  };
  if (llvm::none_of(map.getResults(), [&](AffineExpr e) { return dependsOn(e, column); }))
    return Values(count, b.load(buffer, load(0)));
  bool areNeighbours = map.getResults().back() == b.getAffineDimExpr(column) &&
                       llvm::none_of(map.getResults().drop_back(),
                                     [&](AffineExpr e) { return dependsOn(e, column); });
  if (areNeighbours && alignedNumbers(buffer, count) == count)
    return loadVector(b, buffer, load(0), count);
  Values numbers;
  for (int64_t e = 0; e < count; ++e)
    numbers.push_back(b.load(buffer, load(e)));
  return numbers;
}

} // namespace

bool transformer::simt::isElementwise(linalg::LinalgOp op) {
  auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
  if (!generic || generic.getNumDpsInits() == 0 || generic.getNumLoops() == 0 ||
      generic.getNumParallelLoops() != generic.getNumLoops() || !generic.hasPureBufferSemantics())
    return false;
  return llvm::all_of(generic.getDpsInitsMutable(), [&](OpOperand &out) {
    return generic.getMatchingIndexingMap(&out).isIdentity() &&
           alignedNumbers(out.get(), numbersOfThread) == numbersOfThread;
  });
}

void transformer::simt::emitElementwise(Loops &b, linalg::LinalgOp op) {
  Value result = op.getDpsInits().front();
  Values sizes;
  for (unsigned d = 0; d < op.getNumLoops(); ++d)
    sizes.push_back(b.dim(result, d));
  sizes.back() = b.index(rowWidth(result) / numbersOfThread);
  b.threads(sizes, [&](ValueRange at) {
    Values dims(at);
    dims.back() = b.mul(dims.back(), numbersOfThread);
    SmallVector<Values> operands;
    for (OpOperand &operand : op->getOpOperands())
      operands.push_back(
          op.payloadUsesValueFromOperand(&operand)
              ? read(b, &operand, op.getMatchingIndexingMap(&operand), dims, numbersOfThread)
              : Values());
    Operation *yield = op.getBlock()->getTerminator();
    SmallVector<Values> written(yield->getNumOperands());
    for (int64_t e = 0; e < numbersOfThread; ++e) {
      IRMapping map;
      for (OpOperand &operand : op->getOpOperands())
        if (const Values &numbers = operands[operand.getOperandNumber()]; !numbers.empty())
          map.map(op.getMatchingBlockArgument(&operand), numbers[e]);
      for (Operation &inner : op.getBlock()->without_terminator()) {
        if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
          bool isColumn = index.getDim() + 1 == dims.size();
          map.map(index.getResult(), isColumn ? b.add(dims.back(), e) : dims[index.getDim()]);
        } else {
          b.clone(inner, map);
        }
      }
      for (auto [numbers, value] : llvm::zip_equal(written, yield->getOperands()))
        numbers.push_back(map.lookupOrDefault(value));
    }
    for (auto [numbers, out] : llvm::zip_equal(written, op.getDpsInits()))
      storeVector(b, numbers, out, dims);
  });
}
