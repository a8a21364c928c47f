//===- CallGraph.cpp - the order of a module's functions ------------------===//
#include "codegen/memory/CallGraph.h"

using namespace mlir;

SmallVector<func::FuncOp> transformer::calleesFirst(ModuleOp module) {
  SmallVector<func::FuncOp> order;
  llvm::DenseSet<Operation *> seen;
  auto visit = [&](auto &self, func::FuncOp function) -> void {
    if (function.isExternal() || !seen.insert(function).second)
      return;
    function.walk([&](func::CallOp call) {
      if (auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee()))
        self(self, callee);
    });
    order.push_back(function);
  };
  for (auto function : module.getOps<func::FuncOp>())
    visit(visit, function);
  return order;
}
