//===- EarlyChoice.cpp - rows chosen in front of what makes them ----------===//
#include "passes/EarlyChoice.h"

using namespace mlir;
using namespace mlir::transformer;

/// Whether `value` has a number of rows that calls decide.
static bool hasDynamicRows(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == 2 && type.isDynamicDim(0);
}

/// The row-wise ops between the sequences and `choice` whose rows nobody but it reads, directly or
/// through others of them, the last one first.
static SetVector<Operation *> opsReadBy(Operation *choice) {
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

EarlyChoice transformer::chooseEarly(Operation *choice) {
  EarlyChoice early{opsReadBy(choice), {}};
  DenseMap<Value, Value> chosen;
  for (Operation *op : llvm::reverse(early.ops))
    for (OpOperand &operand : op->getOpOperands())
      if (Value x = operand.get(); hasDynamicRows(x) && !early.ops.contains(x.getDefiningOp())) {
        Value &rows = chosen[x];
        if (!rows) {
          Operation *made = early.choices.emplace_back(OpBuilder(op).clone(*choice));
          made->setOperand(0, x);
          made->getResult(0).setType(x.getType());
          rows = made->getResult(0);
        }
        operand.set(rows);
      }
  return early;
}
