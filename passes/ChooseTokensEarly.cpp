//===- ChooseTokensEarly.cpp - compute only the rows that are read --------===//
#include "dialect/TransformerDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "passes/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_CHOOSETOKENSEARLYPASS
#include "passes/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Whether `value` has a number of rows that calls decide.
bool hasDynamicRows(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == 2 && type.isDynamicDim(0);
}

/// The row-wise ops between the sequences and `choice` whose rows nobody but it reads, directly or
/// through others of them, the last one first.
SetVector<Operation *> opsReadBy(Operation *choice) {
  SetVector<Operation *> found;
  found.insert(choice);
  Operation *sequences = choice->getOperand(1).getDefiningOp();
  for (Operation *op = choice->getPrevNode(); op && op != sequences; op = op->getPrevNode())
    if (!op->use_empty() && isRowWise(op) && llvm::all_of(op->getResults(), hasDynamicRows) &&
        llvm::all_of(op->getUsers(), [&](Operation *user) { return found.contains(user); }))
      found.insert(op);
  found.remove(choice);
  return found;
}

struct ChooseTokensEarly : transformer::impl::ChooseTokensEarlyPassBase<ChooseTokensEarly> {
  void runOnOperation() override {
    symbols.emplace(getOperation());
    SmallVector<Operation *> choices;
    getOperation().walk([&](Operation *op) {
      if (isa<FirstTokenOp, LastTokenOp>(op) &&
          op->getResult(0).getType() == op->getOperand(0).getType())
        choices.push_back(op);
    });
    for (Operation *choice : choices)
      moveUp(choice);
  }

private:
  /// Whether a linear layer has fewer rows now.
  bool moveUp(Operation *choice) {
    SetVector<Operation *> ops = opsReadBy(choice);
    SmallVector<Operation *> choices; // in front of `ops`
    DenseMap<Value, Value> chosen;
    for (Operation *op : llvm::reverse(ops))
      for (OpOperand &operand : op->getOpOperands())
        if (Value x = operand.get(); hasDynamicRows(x) && !ops.contains(x.getDefiningOp())) {
          Value &rows = chosen[x];
          if (!rows)
            rows = choices.emplace_back(chooseRows(op, choice, x))->getResult(0);
          operand.set(rows);
        }
    if (!ops.empty()) {
      OpBuilder builder(choice);
      Value rows = choice->getOperand(0);
      Value cleared = ClearEmptyOp::create(builder, choice->getLoc(), rows, choice->getOperand(1));
      choice->getResult(0).replaceAllUsesWith(cleared);
      choice->erase();
    } else {
      choices.push_back(choice);
    }
    bool gains = llvm::any_of(ops, [](Operation *op) { return isa<LinearOp>(op); });
    for (Operation *each : choices)
      gains |= moveIntoCall(each);
    return gains;
  }

  /// Like `choice`, of x, in front of `op`.
  static Operation *chooseRows(Operation *op, Operation *choice, Value x) {
    Operation *rows = OpBuilder(op).clone(*choice);
    rows->setOperand(0, x);
    rows->getResult(0).setType(x.getType());
    return rows;
  }

  /// The layer that makes the rows for `choice` alone becomes one that makes those it chooses.
  bool moveIntoCall(Operation *choice) {
    Value x = choice->getOperand(0), sequences = choice->getOperand(1);
    auto call = x.getDefiningOp<func::CallOp>();
    if (!call || !x.hasOneUse())
      return false;
    auto callee = symbols->lookup<func::FuncOp>(call.getCallee());
    auto argument = llvm::find(call.getOperands(), sequences);
    if (!callee || callee.isExternal() || argument == call.getOperands().end())
      return false;
    func::FuncOp layer = callee.clone();
    layer.setName((callee.getName() + (isa<LastTokenOp>(choice) ? ".last" : ".first")).str());
    Operation *end = layer.front().getTerminator();
    OpOperand &result = end->getOpOperand(cast<OpResult>(x).getResultNumber());
    OpBuilder builder(end);
    Operation *inner = builder.clone(*choice);
    inner->setOperands({result.get(), layer.getArgument(argument - call.operand_begin())});
    result.set(inner->getResult(0));
    symbols->insert(layer, std::next(Block::iterator(callee)));
    if (!moveUp(inner)) {
      symbols->erase(layer);
      return false;
    }
    call.setCallee(layer.getName());
    choice->getResult(0).replaceAllUsesWith(x);
    choice->erase();
    return true;
  }

  std::optional<SymbolTable> symbols;
};

} // namespace
