//===- IsolateEntries.cpp - entry points are called from outside only -----===//
#include "dialect/TransformerDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "passes/Passes.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_ISOLATEENTRIESPASS
#include "passes/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// A name as the compiler and the runtime make them: "forward.arena_bytes", "tr_parallel_for".
bool isReserved(StringRef name) {
  return name.contains('.') || name.starts_with("tr_") || name.starts_with("transformer");
}

struct IsolateEntries : transformer::impl::IsolateEntriesPassBase<IsolateEntries> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> entries, layers;
    for (auto function : module.getOps<func::FuncOp>())
      (function->hasAttr(attr::entry) ? entries : layers).push_back(function);
    if (entries.empty())
      return;
    symbols.emplace(module);
    for (func::FuncOp entry : entries) {
      if (isReserved(entry.getName())) {
        entry.emitError()
            << "entry point @" << entry.getName()
            << ": names with a dot, \"tr_\" or \"transformer\" are the compiler's own";
        return signalPassFailure();
      }
      copyIfCalled(entry);
    }
    for (func::FuncOp layer : layers) {
      layer.setPrivate();
      if (isReserved(layer.getName()) && failed(rename(layer)))
        return signalPassFailure();
    }
  }

private:
  /// Calls of an entry point go to a layer with its body.
  void copyIfCalled(func::FuncOp entry) {
    auto isCall = [](SymbolTable::SymbolUse use) { return isa<func::CallOp>(use.getUser()); };
    auto uses = SymbolTable::getSymbolUses(entry, getOperation());
    if (!uses || llvm::none_of(*uses, isCall))
      return;
    func::FuncOp layer = entry.clone();
    layer->removeAttr(attr::entry);
    layer.removeArgAttrsAttr();
    layer.removeResAttrsAttr();
    layer.setPrivate();
    StringAttr name = symbols->insert(layer, Block::iterator(entry));
    (void)SymbolTable::replaceAllSymbolUses(entry, name, getOperation());
  }

  LogicalResult rename(func::FuncOp layer) {
    std::string name = "layer_" + layer.getName().str();
    llvm::replace(name, '.', '_');
    return symbols->rename(layer, unique(name));
  }

  std::string unique(const std::string &name) {
    std::string candidate = name;
    for (unsigned i = 0; symbols->lookup(candidate); ++i)
      candidate = name + "_" + std::to_string(i);
    return candidate;
  }

  std::optional<SymbolTable> symbols;
};

} // namespace
