//===- SpreadUpdates.cpp - a layer's call updates the next layer's weights ===//
//
// A step that begins with the update of the one before would wait for memory before it multiplies.
// Nothing but the next layer needs the next layer's weights: a layer's function updates them, and
// its products can hide what that reads and writes. A table of words, read in front of all layers
// and behind them, is updated by all of them; the few rows that are looked up before are computed
// apart.
//
//===----------------------------------------------------------------------===//
#include "dialect/OptimizerOps.h"
#include "dialect/TransformerDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"
#include "passes/Passes.h"
#include "passes/StepFunctions.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_SPREADUPDATESPASS
#include "passes/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Of fewer calls the first one's weights, updated in front of it, and the last one, which has none
/// to update, would leave little.
constexpr size_t kFewestLayers = 3;

/// A call of a function that is one update, of a matrix.
struct Update {
  Operation *call = nullptr;
  Operation *op = nullptr; // in the function
  unsigned states = 0;     // the parameter and its moments, in front of the gradient

  explicit operator bool() const { return op; }
  RankedTensorType type() const { return cast<RankedTensorType>(call->getOperand(0).getType()); }
  int64_t size() const { return type().getNumElements(); }
  ValueRange operands() const { return call->getOperands().take_front(states + 1); }
  /// What is the same for all parameters: scale, rate and so on.
  ValueRange scalars() const { return call->getOperands().drop_front(states + 1); }
};

Update asUpdate(func::CallOp call, SymbolTable &symbols) {
  auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
  if (!callee || callee.isExternal() || !llvm::hasNItems(callee.front(), 2))
    return {};
  Operation *op = &callee.front().front();
  if (!isa<AdamWUpdateOp, SgdUpdateOp>(op) || op->getOperands() != callee.getArguments())
    return {};
  Update update{call, op, op->getNumResults()};
  return update.type().getRank() == 2 ? update : Update();
}

/// An update as op, of `operands` (states, gradient), between two rows.
ValueRange emitUpdate(ImplicitLocOpBuilder &b, Operation *like, ValueRange operands,
                      ValueRange scalars, ValueRange rows) {
  IRMapping map;
  map.map(like->getOperands().take_front(operands.size()), operands);
  map.map(like->getOperands().drop_front(operands.size()), scalars);
  Operation *op = b.clone(*like, map);
  op->insertOperands(op->getNumOperands(), rows);
  for (OpResult result : op->getResults())
    result.setType(operands[result.getResultNumber()].getType());
  return op->getResults();
}

/// Calls of one layer's function, in the order of the step.
struct Layers {
  func::FuncOp function;
  SmallVector<func::CallOp> calls;
  /// By a weight's number among the arguments, the update of each call's.
  llvm::MapVector<unsigned, SmallVector<Update>> weights;

  int64_t size() const {
    int64_t sum = 0;
    for (const auto &[argument, updates] : weights)
      sum += updates.front().size();
    return sum;
  }
};

/// Whether no user of what `op` makes is at or in front of `call`.
bool isUsedBehind(Operation *op, Operation *call) {
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    return user->getBlock() == call->getBlock() && call->isBeforeInBlock(user);
  });
}

class Spread {
public:
  Spread(func::FuncOp step, SymbolTable &symbols) : step(step), symbols(symbols) {}

  void run() {
    findUpdates();
    SmallVector<Layers> all = findLayers();
    if (all.empty())
      return;
    Layers *largest = llvm::max_element(
        all, [](const Layers &a, const Layers &b) { return a.size() < b.size(); });
    Update table = findTable(*largest);
    for (Layers &layers : all)
      rewrite(layers, &layers == largest ? table : Update());
  }

private:
  /// Those by the same numbers as the first: functions get them once.
  void findUpdates() {
    for (auto call : step.front().getOps<func::CallOp>()) {
      Update update = asUpdate(call, symbols);
      if (update && updates.empty())
        llvm::append_range(scalars, update.scalars());
      if (update && llvm::equal(update.scalars(), scalars))
        updates[call] = update;
    }
  }

  Update updateOf(Value weight) {
    auto result = dyn_cast<OpResult>(weight);
    return result && result.getResultNumber() == 0 ? updates.lookup(result.getOwner()) : Update();
  }

  SmallVector<Layers> findLayers() {
    llvm::MapVector<func::FuncOp, SmallVector<func::CallOp>> calls;
    for (auto call : step.front().getOps<func::CallOp>())
      if (auto callee = symbols.lookup<func::FuncOp>(call.getCallee()); !updates.contains(call))
        calls[callee].push_back(call);
    SmallVector<Layers> all;
    for (auto &[callee, ofCallee] : calls) {
      auto uses = SymbolTable::getSymbolUses(callee, symbols.getOp());
      if (ofCallee.size() < kFewestLayers || !uses ||
          size_t(std::distance(uses->begin(), uses->end())) != ofCallee.size())
        continue; // others call it
      Layers layers{callee, ofCallee, {}};
      for (unsigned argument = 0; argument < callee.getNumArguments(); ++argument)
        if (SmallVector<Update> found = updatesOf(layers.calls, argument); !found.empty())
          layers.weights[argument] = found;
      if (!layers.weights.empty())
        all.push_back(layers);
    }
    return all;
  }

  /// The updates of what the calls get as this argument, if each but the first one's can be made by
  /// the call before.
  SmallVector<Update> updatesOf(SmallVector<func::CallOp> calls, unsigned argument) {
    SmallVector<Update> found;
    for (auto [i, call] : llvm::enumerate(calls)) {
      Update update = updateOf(call->getOperand(argument));
      if (!update || (i && update.type() != found[0].type()) ||
          (i && !isUsedBehind(update.call, calls[i - 1])) || llvm::is_contained(taken, update.call))
        return {};
      found.push_back(update);
    }
    for (const Update &update : found)
      taken.push_back(update.call);
    return found;
  }

  /// The largest matrix that nothing reads from the first call to the last, and in front of them
  /// lookups alone, some rows.
  Update findTable(Layers &layers) {
    Update largest;
    for (const auto &[call, update] : updates) {
      bool isApart = llvm::all_of(call->getUsers(), [&](Operation *user) {
        return user->getBlock() == layers.calls.back()->getBlock() &&
               (layers.calls.back()->isBeforeInBlock(user) ||
                (isLookUp(user) && user->isBeforeInBlock(layers.calls.front())));
      });
      if (isApart && !llvm::is_contained(taken, update.call) &&
          (!largest || update.size() > largest.size()))
        largest = update;
    }
    return largest;
  }

  static bool isLookUp(Operation *user) {
    auto lookUp = dyn_cast<EmbeddingOp>(user);
    return lookUp && lookUp.getScale().isExactlyValue(1);
  }

  /// Rows of the updated table, from those of what it is made of.
  void updateRows(EmbeddingOp lookUp, const Update &table) {
    ImplicitLocOpBuilder b(lookUp.getLoc(), lookUp);
    SmallVector<Value> rows;
    for (Value operand : table.operands()) {
      Operation *of = b.clone(*lookUp);
      of->setOperand(1, operand);
      rows.push_back(of->getResult(0));
    }
    lookUp.replaceAllUsesWith(emitUpdate(b, table.op, rows, scalars, {}).front());
    lookUp.erase();
  }

  /// What the rewritten function takes and gives back behind all else: states of what it updates.
  struct Added {
    func::FuncOp function;
    Operation *end;
    unsigned count = 0;

    BlockArgument argument(Type type, DictionaryAttr attributes = {}) {
      unsigned index = function.getNumArguments();
      (void)function.insertArgument(index, type, attributes, function.getLoc());
      return function.getArgument(index);
    }
    void result(Value value, DictionaryAttr attributes) {
      (void)function.insertResult(function.getNumResults(), value.getType(), attributes);
      end->insertOperands(end->getNumOperands(), value);
    }
    /// Arguments for states, which have names, and a gradient.
    SmallVector<Value> operands(const Update &update, SmallVector<DictionaryAttr> &names) {
      Builder b(function.getContext());
      SmallVector<Value> result;
      for (auto [i, operand] : llvm::enumerate(update.operands())) {
        bool isState = i < update.states;
        if (isState)
          names.push_back(named(b, attr::state, "update" + Twine(count++)));
        result.push_back(argument(operand.getType(), isState ? names.back() : DictionaryAttr()));
      }
      return result;
    }
  };

  void rewrite(Layers &layers, const Update &table) {
    addToFunction(layers, table);
    if (table)
      for (Operation *user : llvm::make_early_inc_range(table.call->getUsers()))
        if (isLookUp(user) && user->isBeforeInBlock(layers.calls.front()))
          updateRows(cast<EmbeddingOp>(user), table);
    addToCalls(layers, table);
  }

  /// The op in front of which a weight's successor is updated: the one that reads the weight.
  static Operation *readerOf(BlockArgument weight) {
    Operation *first = nullptr;
    for (Operation *user : weight.getUsers()) {
      Operation *outer = weight.getOwner()->findAncestorOpInBlock(*user);
      if (!first || outer->isBeforeInBlock(first))
        first = outer;
    }
    return first ? first : weight.getOwner()->getTerminator();
  }

  void addToFunction(Layers &layers, const Update &table) {
    func::FuncOp function = layers.function;
    Added added{function, function.front().getTerminator()};
    auto index = IndexType::get(function.getContext());
    SmallVector<Value> given;
    for (Value scalar : scalars)
      given.push_back(added.argument(scalar.getType()));
    Value isLast = added.argument(IntegerType::get(function.getContext(), 1));
    SmallVector<DictionaryAttr> names, ofTable;
    SmallVector<Value> results, tableOperands;
    Value tableRow, tableRows;
    if (table) {
      tableOperands = added.operands(table, ofTable);
      tableRow = added.argument(index);
      tableRows = added.argument(index);
    }
    int64_t done = 0, all = layers.size();
    for (auto &[argument, updates] : layers.weights) {
      const Update &update = updates.front();
      SmallVector<Value> operands = added.operands(update, names);
      ImplicitLocOpBuilder b(function.getLoc(), readerOf(function.getArgument(argument)));
      auto constant = [&](int64_t value) -> Value {
        return arith::ConstantIndexOp::create(b, value);
      };
      Value rows =
          arith::SelectOp::create(b, isLast, constant(0), constant(update.type().getDimSize(0)));
      llvm::append_range(results, emitUpdate(b, update.op, operands, given, {constant(0), rows}));
      if (!table)
        continue;
      auto tableRowAt = [&](int64_t size) -> Value {
        Value share = arith::MulIOp::create(b, tableRows, constant(size));
        return arith::AddIOp::create(b, tableRow, arith::DivUIOp::create(b, share, constant(all)));
      };
      Value from = tableRowAt(done), to = tableRowAt(done += update.size());
      ValueRange updated = emitUpdate(b, table.op, tableOperands, given, {from, to});
      llvm::copy(updated, tableOperands.begin());
    }
    for (auto [value, name] : llvm::zip_equal(results, names))
      added.result(value, name);
    for (auto [value, name] : llvm::zip(tableOperands, ofTable))
      added.result(value, name);
  }

  void addToCalls(Layers &layers, const Update &table) {
    size_t count = layers.calls.size();
    SmallVector<Value> tableStates;
    if (table)
      tableStates.append(table.operands().begin(), table.operands().end());
    for (auto [i, call] : llvm::enumerate(layers.calls)) {
      ImplicitLocOpBuilder b(call.getLoc(), call);
      bool isLast = i + 1 == count;
      SmallVector<Value> operands(call.getOperands());
      llvm::append_range(operands, scalars);
      operands.push_back(arith::ConstantIntOp::create(b, isLast, 1));
      if (table) {
        auto row = [&](size_t layer) { return table.type().getDimSize(0) * layer / count; };
        llvm::append_range(operands, tableStates);
        operands.push_back(arith::ConstantIndexOp::create(b, row(i)));
        operands.push_back(arith::ConstantIndexOp::create(b, row(i + 1) - row(i)));
      }
      for (auto &[argument, updates] : layers.weights) {
        // The last one gets what the first one's weights have been updated to, for no rows.
        Update &next = updates[isLast ? 0 : i + 1];
        if (isLast)
          llvm::append_range(operands, next.call->getResults());
        else
          llvm::append_range(operands, next.operands().drop_back());
        operands.push_back(next.operands().back());
      }
      auto made = func::CallOp::create(b, layers.function, operands);
      made->setDiscardableAttrs(call->getDiscardableAttrDictionary());
      unsigned before = call.getNumResults();
      call.replaceAllUsesWith(made.getResults().take_front(before));
      call.erase();
      ValueRange results = made.getResults().drop_front(before);
      for (auto &[argument, updates] : layers.weights) {
        Update &next = updates[isLast ? 0 : i + 1];
        for (auto [old, result] :
             llvm::zip_equal(next.call->getResults(), results.take_front(next.states)))
          old.replaceUsesWithIf(
              result, [&](OpOperand &use) { return made->isBeforeInBlock(use.getOwner()); });
        results = results.drop_front(next.states);
        if (!isLast)
          next.call->erase();
      }
      llvm::copy(results, tableStates.begin());
    }
    if (!table)
      return;
    table.call->replaceAllUsesWith(ArrayRef(tableStates).drop_back());
    table.call->erase();
  }

  func::FuncOp step;
  SymbolTable &symbols;
  llvm::MapVector<Operation *, Update> updates;
  SmallVector<Value> scalars; // of all of them
  SmallVector<Operation *> taken;
};

struct SpreadUpdates : transformer::impl::SpreadUpdatesPassBase<SpreadUpdates> {
  using Base::Base;
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    if (auto found = symbols.lookup<func::FuncOp>(step); found && !found.isExternal())
      Spread(found, symbols).run();
  }
};

} // namespace
