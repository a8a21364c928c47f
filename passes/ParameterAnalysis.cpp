//===- ParameterAnalysis.cpp - what depends on parameters only ------------===//
#include "passes/ParameterAnalysis.h"
#include "dialect/StaysInCalls.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// An op that stands for itself wherever it is cloned.
bool isLiteral(Operation *op) {
  return op->hasTrait<OpTrait::ConstantLike>() ||
         (isa<tensor::EmptyOp>(op) && op->getNumOperands() == 0);
}

/// Operands, and values that the regions of `op` capture.
SmallVector<Value> inputsOf(Operation *op) {
  SmallVector<Value> inputs(op->getOperands());
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  llvm::append_range(inputs, captured);
  return inputs;
}

/// A constant of different numbers: as good as a parameter.
bool isConstantWeight(Operation *op) {
  ElementsAttr values;
  return matchPattern(op, m_Constant(&values)) && !values.isSplat();
}

/// What a prepared tensor can hold.
bool isStored(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return false;
  Type element = tensor.getElementType();
  return element.isF32() || element.isBF16() || element.isInteger(8) || element.isInteger(32);
}

} // namespace

bool ParameterAnalysis::isDerived(Value value) {
  if (Operation *op = value.getDefiningOp())
    return isDerived(op);
  return arguments.contains(value);
}

bool ParameterAnalysis::isDerived(Operation *op) {
  auto entry = known.find(op);
  if (entry != known.end())
    return entry->second;
  auto compute = [&]() {
    if (auto parameter = dyn_cast<GetParameterOp>(op))
      return isSource(parameter);
    if (isa<SinusoidalTableOp>(op) || isConstantWeight(op))
      return true;
    if (op->getNumResults() == 0 || !isMemoryEffectFree(op) || op->hasTrait<StaysInCalls>() ||
        op->hasAttr(kStaysInCallsAttr))
      return false;
    bool reachesParameter = false;
    for (Value input : inputsOf(op)) {
      if (isDerived(input))
        reachesParameter = true;
      else if (!input.getDefiningOp() || !isLiteral(input.getDefiningOp()))
        return false;
    }
    return reachesParameter;
  };
  bool derived = compute();
  known[op] = derived;
  return derived;
}

Operation *ParameterAnalysis::find(func::FuncOp function,
                                   llvm::function_ref<bool(Operation *)> visit) {
  Operation *found = nullptr;
  function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (visit(op)) {
      found = op;
      return WalkResult::interrupt();
    }
    return isDerived(op) ? WalkResult::skip() : WalkResult::advance();
  });
  return found;
}

bool ParameterAnalysis::mayLeave(Operation *op) {
  return isDerived(op) && !isLiteral(op) && llvm::all_of(op->getResultTypes(), isStored);
}

void ParameterAnalysis::addRoot(OpOperand &use, Roots &roots) {
  Operation *source = use.get().getDefiningOp();
  if (!source || !isDerived(source))
    return;
  if (mayLeave(source)) {
    roots[use.get()].push_back(&use);
    return;
  }
  source->walk([&](Operation *op) { // it stays; what it is made from need not
    for (OpOperand &operand : op->getOpOperands())
      addRoot(operand, roots);
  });
}

ParameterAnalysis::Roots ParameterAnalysis::findRoots(func::FuncOp function) {
  Roots roots;
  find(function, [&](Operation *op) {
    if (!isDerived(op))
      for (OpOperand &operand : op->getOpOperands())
        addRoot(operand, roots);
    return false;
  });
  return roots;
}

void transformer::collectSlice(Value root, llvm::SetVector<Operation *> &slice,
                               llvm::function_ref<bool(Value)> isKnown) {
  Operation *op = root.getDefiningOp();
  if (!op || slice.contains(op))
    return;
  for (Value input : inputsOf(op))
    if (!isKnown(input))
      collectSlice(input, slice, isKnown);
  slice.insert(op);
}

void transformer::eraseDeadOps(func::FuncOp function) {
  SmallVector<Operation *> ops;
  function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : llvm::reverse(ops)) // users and nested ops first
    if (isOpTriviallyDead(op))
      op->erase();
}

bool transformer::isEntry(func::FuncOp function) {
  return !function.isPrivate() || function->hasAttr(attr::entry);
}
