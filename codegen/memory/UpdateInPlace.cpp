//===- UpdateInPlace.cpp - state is written where it lies -----------------===//
#include "codegen/memory/DestinationPassing.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

using namespace mlir;
using namespace mlir::transformer;

/// The value whose memory `value` is written to, seen through what has a destination; `first` is
/// the first op, in the function's order, that writes there.
static Value memoryOf(Value value, Operation *&first) {
  while (Operation *op = value.getDefiningOp()) {
    unsigned result = cast<OpResult>(value).getResultNumber();
    if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
      value = insert.getDest();
    } else if (auto dps = dyn_cast<DestinationStyleOpInterface>(op)) {
      value = dps.getTiedOpOperand(cast<OpResult>(value))->get();
    } else if (auto call = dyn_cast<func::CallOp>(op)) {
      value = call.getOperand(destinationOf(call, result));
    } else if (isView(op) && !isa<tensor::ExtractSliceOp>(op)) {
      value = op->getOperand(0);
      continue;
    } else {
      return value;
    }
    first = op;
  }
  return value;
}

/// Whether an op that reads elements of `state` may also write them: each at the place where it has
/// just been read.
static bool readsWhereItWrites(Operation *op, Value state) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || linalgOp.getNumParallelLoops() != linalgOp.getNumLoops() ||
      linalgOp.getNumDpsInits() != 1)
    return false;
  AffineMap written = linalgOp.getMatchingIndexingMap(linalgOp.getDpsInitOperand(0));
  return written.isPermutation() && llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
           return operand.get() != state || linalgOp.getMatchingIndexingMap(&operand) == written;
         });
}

/// Whether all that reads elements of `state` is done before `writer` writes to its memory.
static bool isReadBefore(Value state, Operation *writer, Value whole) {
  return llvm::all_of(state.getUsers(), [&](Operation *user) {
    if (isa<tensor::DimOp>(user))
      return true;
    if (isView(user))
      return isReadBefore(user->getResult(0), writer, whole);
    Operation *reader = writer->getBlock()->findAncestorOpInBlock(*user);
    if (reader == writer)
      return state == whole && readsWhereItWrites(writer, whole);
    return reader && reader->isBeforeInBlock(writer);
  });
}

/// Where the op of `value` makes every element anew, `state` takes the place of what it has as its
/// destination, which lends its shape alone.
static bool replaceDestination(Value value, BlockArgument state) {
  auto op = value.getDefiningOp<linalg::LinalgOp>();
  if (!op || !isReadBefore(state, op, state))
    return false;
  OpOperand *init =
      cast<DestinationStyleOpInterface>(op.getOperation()).getTiedOpOperand(cast<OpResult>(value));
  if (op.payloadUsesValueFromOperand(init) || init->get().getType() != state.getType())
    return false;
  init->set(state);
  return true;
}

void mlir::transformer::updateInPlace(func::FuncOp function, OpOperand &result,
                                      BlockArgument state) {
  Value value = result.get();
  Operation *first = nullptr;
  Value memory = memoryOf(value, first);
  if (memory == state)
    return;
  bool returnedOnce = llvm::count(result.getOwner()->getOperands(), value) == 1;
  if (replaceDestination(value, state))
    return;
  if (first && returnedOnce && isReadBefore(state, first, state) &&
      writeInto(function, result, state))
    return;
  OpBuilder b(result.getOwner());
  result.set(linalg::CopyOp::create(b, value.getLoc(), value, state).getResult(0));
}
