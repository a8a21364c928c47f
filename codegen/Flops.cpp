//===- Flops.cpp - floating point operations of an entry point ------------===//
#include "codegen/Flops.h"
#include "dialect/TransformerDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

class FlopCounter {
public:
  FlopCounter(ModuleOp module, func::FuncOp entry) : module(module), entry(entry) {}

  DictionaryAttr run() {
    Origins origins;
    walk(entry, origins);
    Builder b(module.getContext());
    SmallVector<Attribute> attention;
    for (auto &[key, perPair] : pairs) {
      auto [queries, keys, causal] = key;
      attention.push_back(
          b.getDictionaryAttr({b.getNamedAttr("queries", queries), b.getNamedAttr("keys", keys),
                               b.getNamedAttr("per_pair", b.getI64IntegerAttr(perPair)),
                               b.getNamedAttr("causal", b.getBoolAttr(causal))}));
    }
    SmallVector<NamedAttribute> tokens;
    for (auto &[mask, count] : perToken)
      tokens.push_back(b.getNamedAttr(mask, b.getI64IntegerAttr(count)));
    return b.getDictionaryAttr({b.getNamedAttr("per_token_of", b.getDictionaryAttr(tokens)),
                                b.getNamedAttr("attention", b.getArrayAttr(attention))});
  }

private:
  /// The mask whose tokens a value's rows (or sequences) are.
  using Origins = DenseMap<Value, StringAttr>;

  void walk(func::FuncOp function, Origins &origins) {
    for (Operation &op : function.front()) {
      if (auto pack = dyn_cast<PackTokensOp>(op)) {
        auto mask = dyn_cast<BlockArgument>(pack.getMask());
        auto name = mask ? entry.getArgAttrOfType<StringAttr>(mask.getArgNumber(), attr::name)
                         : StringAttr();
        if (name)
          for (Value result : op.getResults())
            origins[result] = name;
        continue;
      }
      if (isa<FirstTokenOp>(op))
        continue; // rows are sequences from here on
      count(&op, origins);
      if (auto call = dyn_cast<func::CallOp>(op))
        if (auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
            callee && !callee.isExternal()) {
          Origins inner;
          for (auto [argument, operand] : llvm::zip(callee.getArguments(), call.getOperands()))
            if (StringAttr origin = origins.lookup(operand))
              inner[argument] = origin;
          walk(callee, inner);
        }
      for (Value operand : op.getOperands())
        if (StringAttr origin = origins.lookup(operand)) {
          for (Value result : op.getResults())
            origins[result] = origin;
          break;
        }
    }
  }

  void count(Operation *op, Origins &origins) {
    if (auto linear = dyn_cast<LinearOp>(op)) {
      if (StringAttr origin = origins.lookup(linear.getX()))
        perToken[origin] += 2 * widthOf(linear.getX()) * widthOf(linear.getResult());
    } else if (auto attention = dyn_cast<AttentionOp>(op)) {
      StringAttr queries = origins.lookup(attention.getSequences());
      StringAttr keys = origins.lookup(attention.keySequences());
      if (queries && keys)
        pairs[{queries, keys, attention.getCausal() ? 1 : 0}] += 4 * widthOf(attention.getQ());
    }
  }

  ModuleOp module;
  func::FuncOp entry;
  llvm::MapVector<StringAttr, int64_t> perToken;
  llvm::MapVector<std::tuple<StringAttr, StringAttr, int>, int64_t> pairs;
};

} // namespace

void mlir::transformer::countFlops(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(attr::entry))
      function->setAttr(kFlopsAttr, FlopCounter(module, function).run());
}
