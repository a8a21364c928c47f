//===- MergeTasks.cpp - one function for tasks that do the same -----------===//
//
// Upstream's duplicate-function-elimination follows calls, not addresses, and merges entry points;
// transformer-deduplicate-layers erases functions that only the descriptor will name.
#include "codegen/cpu/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_MERGETASKS
#include "codegen/cpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

bool doTheSame(func::FuncOp a, func::FuncOp b) {
  return a.getFunctionType() == b.getFunctionType() &&
         OperationEquivalence::isRegionEquivalentTo(&a.getBody(), &b.getBody(),
                                                    OperationEquivalence::IgnoreLocations);
}

struct MergeTasksPass : mlir::transformer::impl::MergeTasksBase<MergeTasksPass> {
  using Base::Base;
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<func::FuncOp> kept;
    DenseMap<func::FuncOp, func::FuncOp> standIns;
    auto standInFor = [&](func::FuncOp task) {
      auto [entry, isNew] = standIns.try_emplace(task, task);
      if (isNew) {
        auto same = llvm::find_if(kept, [&](func::FuncOp other) { return doTheSame(task, other); });
        if (same != kept.end())
          entry->second = *same;
        else
          kept.push_back(task);
      }
      return entry->second;
    };
    getOperation().walk([&](func::ConstantOp address) {
      auto task = symbols.lookup<func::FuncOp>(address.getValue());
      if (task && task.isPrivate() && !task.isExternal())
        address.setValueAttr(FlatSymbolRefAttr::get(standInFor(task)));
    });
    for (auto [task, standIn] : standIns)
      if (task != standIn)
        symbols.erase(task);
  }
};

} // namespace
