//===- NarrowCaches.cpp - keys and values in 16 bits ----------------------===//
#include "codegen/gpu/NarrowCaches.h"
#include "codegen/kernels/KernelDialect.h"
#include "codegen/memory/CallGraph.h"
#include "dialect/QuantizeOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::transformer;

Value transformer::sourceOfRows(Value rows) {
  while (auto slice = rows.getDefiningOp<tensor::ExtractSliceOp>())
    rows = slice.getSource();
  return rows;
}

FloatType transformer::roundingOf(Value rows) {
  auto rounded = sourceOfRows(rows).getDefiningOp<QuantizeRowsOp>();
  FloatType type = rounded ? floatTypeOf(rounded.getFormat(), rows.getContext()) : FloatType();
  return type && kernel::isHalf(type) ? type : FloatType();
}

namespace {

/// The values that are one cache, from function to function.
class Caches {
public:
  Caches(ModuleOp module, FloatType element) : element(element), symbols(module) {
    module.walk([&](func::CallOp call) { callsOf[functionOf(call)].push_back(call); });
  }

  void narrow(Value first) {
    SmallVector<Value> left = {first};
    while (!left.empty()) {
      Value cache = left.pop_back_val();
      auto type = cast<RankedTensorType>(cache.getType());
      if (type.getElementType() == element)
        continue;
      cache.setType(type.clone(element));
      addSource(cache, left);
      for (OpOperand &use : cache.getUses())
        addReader(use, left);
    }
  }

private:
  func::FuncOp functionOf(func::CallOp call) {
    return symbols.lookup<func::FuncOp>(call.getCallee());
  }

  void addSource(Value cache, SmallVectorImpl<Value> &to) {
    if (auto argument = dyn_cast<BlockArgument>(cache)) {
      for (func::CallOp call : callsOf[cast<func::FuncOp>(argument.getOwner()->getParentOp())])
        to.push_back(call.getOperand(argument.getArgNumber()));
      return;
    }
    unsigned number = cast<OpResult>(cache).getResultNumber();
    if (auto call = cache.getDefiningOp<func::CallOp>())
      to.push_back(functionOf(call).getBody().back().getTerminator()->getOperand(number));
    else if (auto append = cache.getDefiningOp<kernel::AppendPagesOp>())
      to.push_back(append.getOuts()[number]);
  }

  void addReader(OpOperand &use, SmallVectorImpl<Value> &to) {
    Operation *reader = use.getOwner();
    if (auto call = dyn_cast<func::CallOp>(reader))
      to.push_back(functionOf(call).getArgument(use.getOperandNumber()));
    else if (isa<func::ReturnOp>(reader))
      for (func::CallOp call : callsOf[reader->getParentOfType<func::FuncOp>()])
        to.push_back(call.getResult(use.getOperandNumber()));
    else if (isa<kernel::AppendPagesOp>(reader))
      to.push_back(reader->getResult(0));
  }

  FloatType element;
  SymbolTable symbols;
  llvm::DenseMap<Operation *, SmallVector<func::CallOp>> callsOf;
};

} // namespace

void transformer::narrowCaches(ModuleOp module) {
  SmallVector<Value> caches;
  llvm::SmallSetVector<FloatType, 2> roundings;
  module.walk([&](kernel::AppendPagesOp op) {
    caches.push_back(op.getOuts()[0]);
    roundings.insert(roundingOf(op.getK()));
    roundings.insert(roundingOf(op.getV()));
  });
  if (roundings.size() != 1 || !roundings.front())
    return;
  Caches all(module, roundings.front());
  for (Value cache : caches)
    all.narrow(cache);
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal())
      updateType(function);
}
