//===- NarrowCaches.cpp - keys and values as bfloat16 ---------------------===//
#include "codegen/gpu/NarrowCaches.h"
#include "codegen/kernels/KernelDialect.h"
#include "dialect/QuantizeOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace mlir::transformer;

Value transformer::sourceOfRows(Value rows) {
  while (auto slice = rows.getDefiningOp<tensor::ExtractSliceOp>())
    rows = slice.getSource();
  return rows;
}

bool transformer::areRoundedToBf16(Value rows) {
  auto rounded = sourceOfRows(rows).getDefiningOp<QuantizeRowsOp>();
  return rounded && rounded.getFormat() == WeightFormat::Bf16;
}

namespace {

/// The values that are one cache, from function to function.
class Caches {
public:
  explicit Caches(ModuleOp module) : symbols(module) {
    module.walk([&](func::CallOp call) { callsOf[functionOf(call)].push_back(call); });
  }

  void narrow(Value first) {
    SmallVector<Value> left = {first};
    while (!left.empty()) {
      Value cache = left.pop_back_val();
      auto type = cast<RankedTensorType>(cache.getType());
      if (type.getElementType().isBF16())
        continue;
      cache.setType(type.clone(BFloat16Type::get(type.getContext())));
      addSource(cache, left);
      for (OpOperand &use : cache.getUses())
        addReader(use, left);
    }
  }

  /// What functions take and return is what is in them by now.
  static void updateTypes(func::FuncOp function) {
    auto end = cast<func::ReturnOp>(function.getBody().back().getTerminator());
    function.setType(FunctionType::get(function.getContext(),
                                       function.getBody().front().getArgumentTypes(),
                                       end.getOperandTypes()));
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

  SymbolTable symbols;
  llvm::DenseMap<Operation *, SmallVector<func::CallOp>> callsOf;
};

} // namespace

void transformer::narrowCaches(ModuleOp module) {
  SmallVector<Value> caches;
  bool areRounded = true;
  module.walk([&](kernel::AppendPagesOp op) {
    caches.push_back(op.getOuts()[0]);
    areRounded &= areRoundedToBf16(op.getK()) && areRoundedToBf16(op.getV());
  });
  if (caches.empty() || !areRounded)
    return;
  Caches all(module);
  for (Value cache : caches)
    all.narrow(cache);
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal())
      Caches::updateTypes(function);
}
