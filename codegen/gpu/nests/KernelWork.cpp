//===- KernelWork.cpp - what an op's kernels do, for profiles -------------===//
#include "codegen/gpu/nests/KernelWork.h"
#include "codegen/gpu/dialect/GpuDialect.h"
#include "codegen/gpu/nests/ProductOperands.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

namespace {

int64_t bytesOf(Type element) {
  if (auto vector = dyn_cast<VectorType>(element))
    return vector.getNumElements() * bytesOf(vector.getElementType());
  return element.isIntOrFloat() ? llvm::divideCeil(element.getIntOrFloatBitWidth(), 8)
                                : int64_t(sizeof(int64_t)); // index
}

/// Bytes of what is static of a buffer's sizes.
int64_t staticBytes(MemRefType type) {
  int64_t bytes = bytesOf(type.getElementType());
  for (int64_t size : type.getShape())
    bytes *= ShapedType::isDynamic(size) ? 1 : size;
  return bytes;
}

/// A product over dimensions whose sizes its operands tell.
class ProductWork {
public:
  ProductWork(Loops &b, unsigned dims, unsigned reduction)
      : b(b), sizes(dims, ShapedType::kDynamic), values(dims), reduction(reduction) {}

  void add(Value operand, AffineMap map) {
    auto type = dyn_cast<MemRefType>(operand.getType());
    if (!type)
      return;
    operands.push_back(type);
    for (auto [place, expression] : llvm::enumerate(map.getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(expression); dim && !values[dim.getPosition()]) {
        sizes[dim.getPosition()] = type.getDimSize(place);
        values[dim.getPosition()] = b.dim(operand, place);
      }
  }

  std::pair<Work, Values> work(StringRef activations) {
    Work work;
    if (!llvm::all_of(values, [](Value value) { return bool(value); })) {
      work.label = "product" + activations.str(); // at places that are computed
      return {work, {}};
    }
    Amount amount{"tokens", 2};
    Value counted;
    SmallVector<std::string> names;
    for (auto [dim, size] : llvm::enumerate(sizes)) {
      if (ShapedType::isDynamic(size)) {
        counted = !counted ? values[dim] : b.mul(counted, values[dim]);
        numCounted += 1;
        continue;
      }
      amount.flops *= size;
      // As a weight's: inputs first.
      names.insert(dim == reduction ? names.begin() : names.end(), std::to_string(size));
    }
    bool sums = ShapedType::isDynamic(sizes[reduction]);
    work.label =
        (sums ? "weight_gradient " : "linear ") + llvm::join(names, "x") + activations.str();
    if (numCounted != 1)
      amount.name = "products";
    for (MemRefType type : operands)
      if (type.hasStaticShape())
        work.fixedBytes += staticBytes(type);
      else if (numCounted == 1)
        amount.bytes += staticBytes(type);
    work.amounts.push_back(amount);
    return {work, {counted ? counted : b.index(1)}};
  }

private:
  Loops &b;
  SmallVector<int64_t> sizes;
  Values values;
  unsigned reduction, numCounted = 0;
  SmallVector<MemRefType> operands;
};

std::string activationsIn(Block *block) {
  std::string text;
  for (auto activation : block->getOps<ActivationOp>())
    text += " " + stringifyActivationKind(activation.getKind()).str();
  return text;
}

std::pair<Work, Values> workOfProduct(Loops &b, ProductOp op) {
  constexpr unsigned depth = 2; // behind row and column
  ProductWork product(b, depth + 1, depth);
  for (auto [i, factor] : llvm::enumerate(op.getFactors()))
    product.add(factor, op.factorMap(i));
  for (auto [i, other] : llvm::enumerate(op.getOthers()))
    product.add(other, op.otherMap(i));
  for (Value out : op.getOuts())
    product.add(out, b.getMultiDimIdentityMap(depth));
  return product.work(activationsIn(&op.getResult().front()));
}

std::pair<Work, Values> workOfSum(Loops &b, linalg::LinalgOp op) {
  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  ProductWork product(b, op.getNumLoops(), reductions.front());
  for (OpOperand &operand : op->getOpOperands())
    product.add(operand.get(), op.getMatchingIndexingMap(&operand));
  return product.work("");
}

/// An op of the kernel dialect: the amount is the rows of its first result.
std::pair<Work, Values> workOfRows(Loops &b, Operation *op) {
  Work work{op->getName().stripDialect().str(), "", {}};
  auto destinations = dyn_cast<DestinationStyleOpInterface>(op); // others give a number
  ValueRange outs = destinations ? destinations.getDpsInits() : ValueRange();
  auto type = outs.empty() ? MemRefType() : dyn_cast<MemRefType>(outs.front().getType());
  if (!type || type.getRank() == 0)
    return {work, {}};
  int64_t width = type.getRank() > 1 ? type.getShape().back() : 1;
  if (auto heads = op->getAttrOfType<IntegerAttr>("num_heads"))
    work.label +=
        " " + std::to_string(heads.getInt()) + "x" + std::to_string(width / heads.getInt());
  else if (width > 1)
    work.label += " " + std::to_string(width);
  if (type.isDynamicDim(0)) {
    Amount rows{"rows"};
    for (Value operand : op->getOperands())
      if (auto other = dyn_cast<MemRefType>(operand.getType());
          other && other.getRank() && other.isDynamicDim(0) && other.getNumDynamicDims() == 1)
        rows.bytes += staticBytes(other);
    work.amounts.push_back(rows);
    return {work, {b.dim(outs.front(), 0)}};
  }
  for (Value operand : op->getOperands()) // an optimizer's
    if (auto other = dyn_cast<MemRefType>(operand.getType());
        other && other.getShape() == type.getShape())
      work.fixedBytes += staticBytes(other);
  return {work, {}};
}

} // namespace

std::pair<Work, Values> transformer::simt::workOf(Loops &b, Operation *op) {
  if (auto product = dyn_cast<ProductOp>(op))
    return workOfProduct(b, product);
  if (auto sum = dyn_cast<linalg::LinalgOp>(op))
    return workOfSum(b, sum);
  return workOfRows(b, op);
}

std::pair<Work, Values> transformer::simt::elementwiseWork(Loops &b, scf::ParallelOp loop) {
  Work work{"copy", "", {{"numbers"}}};
  int64_t &bytes = work.amounts.front().bytes;
  bool named = false;
  loop.getBody()->walk([&](Operation *op) {
    if (auto load = dyn_cast<memref::LoadOp>(op))
      bytes += bytesOf(load.getType());
    else if (auto neighbours = dyn_cast<vector::LoadOp>(op))
      bytes += bytesOf(neighbours.getVectorType());
    else if (auto stored = dyn_cast<vector::StoreOp>(op))
      bytes += bytesOf(stored.getVectorType());
    else if (auto store = dyn_cast<memref::StoreOp>(op))
      bytes += bytesOf(store.getValueToStore().getType());
    else if (!named && op->getNumResults() == 1 && isa<FloatType>(op->getResult(0).getType()) &&
             op->getNumOperands()) {
      named = true;
      work.label = "elementwise " + op->getName().stripDialect().str();
    }
  });
  Value count = b.index(1);
  for (Value size : loop.getUpperBound())
    count = b.mul(count, size);
  return {work, {count}};
}
