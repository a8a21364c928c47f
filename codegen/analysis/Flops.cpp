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
  /// rows gave one of them, or a fixed number.
  struct Origin {
    StringAttr mask;
    bool perSequence = false;
    int64_t fixed = 0;
    explicit operator bool() const { return !!mask; }
  };
  using Origins = DenseMap<Value, Origin>;

  /// Returns the origins of the function's results.
  SmallVector<Origin> walk(func::FuncOp function, Origins &origins) {
    for (Operation &op : function.front()) {
      if (auto costs = dyn_cast<CostOpInterface>(op))
        count(costs, origins);
      if (auto call = dyn_cast<func::CallOp>(op))
        if (auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
            callee && !callee.isExternal()) {
          Origins inner;
          for (auto [argument, operand] : llvm::zip(callee.getArguments(), call.getOperands()))
            if (Origin origin = origins.lookup(operand))
              inner[argument] = origin;
          for (auto [result, origin] : llvm::zip(call.getResults(), walk(callee, inner)))
            origins[result] = origin;
          continue;
        }
      if (Origin origin = originOf(op, origins))
        for (Value result : op.getResults())
          origins[result] = origin;
    }
    return llvm::map_to_vector(function.front().getTerminator()->getOperands(),
                               [&](Value result) { return origins.lookup(result); });
  }

  /// What the rows of the op's results are.
  Origin originOf(Operation &op, Origins &origins) {
    auto costs = dyn_cast<CostOpInterface>(op);
    RowOrigin kind = costs ? costs.getRowOrigin() : RowOrigin::Operands;
    if (kind == RowOrigin::Mask) {
      auto mask = dyn_cast<BlockArgument>(op.getOperands().back());
      return {mask ? entry.getArgAttrOfType<StringAttr>(mask.getArgNumber(), attr::name)
                   : StringAttr()};
    }
    if (kind == RowOrigin::Fixed)
      return {anyMask(), false, op.getAttrOfType<IntegerAttr>("length").getInt()};
    if (kind == RowOrigin::Result)
      return origins.lookup(op.getOperands().back());
    for (Value operand : op.getOperands())
      if (Origin origin = origins.lookup(operand)) {
        if (kind == RowOrigin::Sequences)
          return {origin.mask, true};
        return origin;
      }
    return {};
  }

  /// A mask, each of whose rows is a sequence of those that have none of their own.
  StringAttr anyMask() {
    StringAttr found;
    entry.walk([&](PackTokensOp op) {
      auto mask = dyn_cast<BlockArgument>(op.getMask());
      if (mask && !found)
        found = entry.getArgAttrOfType<StringAttr>(mask.getArgNumber(), attr::name);
    });
    return found;
  }

  void count(CostOpInterface op, Origins &origins) {
    SmallVector<Cost> costs;
    op.getCosts(costs);
    for (const Cost &cost : costs) {
      Origin rows = origins.lookup(cost.rows), keys = origins.lookup(cost.keys);
      if (!rows || (cost.keys && !keys))
        continue;
      if (cost.keys && !rows.fixed && !keys.fixed) {
        pairs[{rows.mask, keys.mask, cost.causal ? 1 : 0}] += cost.flops;
      } else {
        // Tokens of one side alone, or of neither, are as many as their mask says.
        bool tokens = cost.keys ? !rows.fixed || !keys.fixed : !rows.fixed && !rows.perSequence;
        int64_t known = std::max<int64_t>(rows.fixed, 1) * std::max<int64_t>(keys.fixed, 1);
        (tokens ? perToken : perSequence)[rows.mask] += cost.flops * known;
      }
      if (rows.perSequence)
        op->setAttr(kPerSequenceAttr, UnitAttr::get(op->getContext()));
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
