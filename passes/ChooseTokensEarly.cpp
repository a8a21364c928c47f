//===- ChooseTokensEarly.cpp - compute only the rows that are read --------===//
#include "dialect/TransformerDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "passes/EarlyChoice.h"
#include "passes/Passes.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_CHOOSETOKENSEARLYPASS
#include "passes/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

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
    EarlyChoice early = chooseEarly(choice);
    if (!early.ops.empty()) {
      OpBuilder builder(choice);
      Value rows = choice->getOperand(0);
      Value cleared = ClearEmptyOp::create(builder, choice->getLoc(), rows, choice->getOperand(1));
      choice->getResult(0).replaceAllUsesWith(cleared);
      choice->erase();
    } else {
      early.choices.push_back(choice);
    }
    bool gains = llvm::any_of(early.ops, [](Operation *op) { return isa<LinearOp>(op); });
    for (Operation *each : early.choices)
      gains |= moveIntoCall(each);
    return gains;
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
