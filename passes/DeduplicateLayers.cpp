//===- DeduplicateLayers.cpp - compile identical layers once --------------===//
#include "dialect/TransformerDialect.h"
#include "passes/Passes.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_DEDUPLICATELAYERSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// A function that may be merged or erased: nobody outside the module calls it.
bool isInternal(func::FuncOp function) {
  return function.isPrivate() && !function.isExternal() && !function->hasAttr(attr::entry);
}

SmallVector<func::FuncOp> internalFunctions(ModuleOp module) {
  return llvm::to_vector(llvm::make_filter_range(module.getOps<func::FuncOp>(), isInternal));
}

/// Attributes (name apart) and body are equal, whatever the locations.
bool areIdentical(func::FuncOp a, func::FuncOp b) {
  auto attributes = [](func::FuncOp function) {
    NamedAttrList list(function->getAttrDictionary());
    list.erase(SymbolTable::getSymbolAttrName());
    return list.getDictionary(function.getContext());
  };
  return attributes(a) == attributes(b) &&
         OperationEquivalence::isRegionEquivalentTo(&a.getBody(), &b.getBody(),
                                                    OperationEquivalence::IgnoreLocations);
}

/// Merges each internal function into the first identical one. True if any was.
bool mergeOnce(ModuleOp module) {
  SymbolTableCollection symbols;
  SymbolUserMap users(symbols, module);
  DenseMap<FunctionType, SmallVector<func::FuncOp>> kept;
  SmallVector<func::FuncOp> merged; // erased last: `users` holds their ops
  for (func::FuncOp function : internalFunctions(module)) {
    SmallVector<func::FuncOp> &candidates = kept[function.getFunctionType()];
    auto same = llvm::find_if(candidates,
                              [&](func::FuncOp other) { return areIdentical(other, function); });
    if (same == candidates.end()) {
      candidates.push_back(function);
      continue;
    }
    users.replaceAllUsesWith(function, same->getSymNameAttr());
    merged.push_back(function);
  }
  for (func::FuncOp function : merged)
    function.erase();
  return !merged.empty();
}

/// Erases internal functions without users. True if any was.
bool eraseUnusedOnce(ModuleOp module) {
  SymbolTableCollection symbols;
  SymbolUserMap users(symbols, module);
  SmallVector<func::FuncOp> unused;
  for (func::FuncOp function : internalFunctions(module)) {
    // Its own calls do not keep a function alive.
    if (llvm::all_of(users.getUsers(function),
                     [&](Operation *user) { return function->isProperAncestor(user); }))
      unused.push_back(function);
  }
  for (func::FuncOp function : unused)
    function.erase();
  return !unused.empty();
}

struct DeduplicateLayers : transformer::impl::DeduplicateLayersPassBase<DeduplicateLayers> {
  void runOnOperation() override {
    // Merging callees makes their callers identical, erasing callers leaves
    // callees unused: once per level of calls.
    while (mergeOnce(getOperation())) {
    }
    while (eraseUnusedOnce(getOperation())) {
    }
  }
};

} // namespace
