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

SmallVector<func::CallOp> transformer::callsOf(func::FuncOp function, const SymbolUserMap &users) {
  ArrayRef<Operation *> all = users.getUsers(function);
  if (!function.isPrivate() || function.isExternal() ||
      !llvm::all_of(all, llvm::IsaPred<func::CallOp>))
    return {};
  return llvm::map_to_vector(all, [](Operation *user) { return cast<func::CallOp>(user); });
}

void transformer::updateType(func::FuncOp function) {
  auto end = cast<func::ReturnOp>(function.getBody().back().getTerminator());
  function.setType(FunctionType::get(
      function.getContext(), function.getBody().front().getArgumentTypes(), end.getOperandTypes()));
}
