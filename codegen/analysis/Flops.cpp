//===- Flops.cpp - floating point operations of an entry point ------------===//
#include "codegen/analysis/Flops.h"
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
    SmallVector<NamedAttribute> tokens, sequences;
    for (auto &[mask, count] : perToken)
      tokens.push_back(b.getNamedAttr(mask, b.getI64IntegerAttr(count)));
    for (auto &[mask, count] : perSequence)
      sequences.push_back(b.getNamedAttr(mask, b.getI64IntegerAttr(count)));
    NamedAttrList flops;
    flops.append("per_token_of", b.getDictionaryAttr(tokens));
    if (!sequences.empty())
      flops.append("per_sequence_of", b.getDictionaryAttr(sequences));
    flops.append("attention", b.getArrayAttr(attention));
    return flops.getDictionary(module.getContext());
  }

private:
  /// The mask whose tokens a value's rows (or sequences) are, or each of whose
  /// rows gave one of them.
  struct Origin {
    StringAttr mask;
    bool perSequence = false;
    explicit operator bool() const { return !!mask; }
  };
  using Origins = DenseMap<Value, Origin>;

  void walk(func::FuncOp function, Origins &origins) {
    for (Operation &op : function.front()) {
      if (auto pack = dyn_cast<PackTokensOp>(op)) {
        auto mask = dyn_cast<BlockArgument>(pack.getMask());
        auto name = mask ? entry.getArgAttrOfType<StringAttr>(mask.getArgNumber(), attr::name)
                         : StringAttr();
        if (name)
          for (Value result : op.getResults())
            origins[result] = {name};
        continue;
      }
      if (auto first = dyn_cast<FirstTokenOp>(op)) {
        if (Origin origin = origins.lookup(first.getX()))
          origins[first.getResult()] = {origin.mask, /*perSequence=*/true};
        continue;
      }
      count(&op, origins);
      if (auto call = dyn_cast<func::CallOp>(op))
        if (auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
            callee && !callee.isExternal()) {
          Origins inner;
          for (auto [argument, operand] : llvm::zip(callee.getArguments(), call.getOperands()))
            if (Origin origin = origins.lookup(operand))
              inner[argument] = origin;
          walk(callee, inner);
        }
      for (Value operand : op.getOperands())
        if (Origin origin = origins.lookup(operand)) {
          for (Value result : op.getResults())
            origins[result] = origin;
          break;
        }
    }
  }

  void count(Operation *op, Origins &origins) {
    if (auto linear = dyn_cast<LinearOp>(op)) {
      Origin origin = origins.lookup(linear.getX());
      if (!origin)
        return;
      auto &counts = origin.perSequence ? perSequence : perToken;
      counts[origin.mask] += 2 * widthOf(linear.getX()) * widthOf(linear.getResult());
      if (origin.perSequence)
        linear->setAttr(kPerSequenceAttr, UnitAttr::get(op->getContext()));
    } else if (auto attention = dyn_cast<AttentionOp>(op)) {
      StringAttr queries = origins.lookup(attention.getSequences()).mask;
      StringAttr keys = origins.lookup(attention.keySequences()).mask;
      if (queries && keys)
        pairs[{queries, keys, attention.getCausal() ? 1 : 0}] += 4 * widthOf(attention.getQ());
    }
  }

  ModuleOp module;
  func::FuncOp entry;
  llvm::MapVector<StringAttr, int64_t> perToken, perSequence;
  llvm::MapVector<std::tuple<StringAttr, StringAttr, int>, int64_t> pairs;
};

} // namespace

void mlir::transformer::countFlops(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(attr::entry))
      function->setAttr(kFlopsAttr, FlopCounter(module, function).run());
}
