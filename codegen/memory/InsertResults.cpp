//===- InsertResults.cpp - kernels write where results are copied ---------===//
#include "codegen/Passes.h"
#include "codegen/kernels/KernelBufferization.h"
#include "codegen/kernels/KernelDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_INSERTRESULTS
#include "codegen/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Of which it is known whether it reads its outs.
bool isKernel(Operation *op) {
  return isa<DestinationStyleOpInterface>(op) && !isa<linalg::LinalgOp>(op);
}

/// Whether `use` is by a kernel that fills its buffer without having read it.
bool fills(OpOperand &use) {
  Operation *user = use.getOwner();
  return isKernel(user) && !kernel::readsOuts(user) &&
         llvm::count(user->getOperands(), use.get()) == 1 &&
         cast<DestinationStyleOpInterface>(user).isDpsInit(&use);
}

/// The kernel that fills `buffer` for `copy`, which alone reads that; null: there is none such.
Operation *writerOf(memref::AllocOp buffer, memref::CopyOp copy) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : buffer->getUses()) {
    if (isa<memref::DimOp>(use.getOwner()))
      continue;
    if (isa<ViewLikeOpInterface>(use.getOwner()) || use.getOwner()->getBlock() != copy->getBlock())
      return nullptr;
    uses.push_back(&use);
  }
  llvm::sort(uses, [](OpOperand *a, OpOperand *b) {
    return a->getOwner()->isBeforeInBlock(b->getOwner());
  });
  auto *copied = llvm::find_if(uses, [&](OpOperand *use) { return use->getOwner() == copy; });
  if (copied == uses.begin() || !fills(**std::prev(copied)))
    return nullptr;
  bool isLast = std::next(copied) == uses.end() || fills(**std::next(copied));
  return isLast ? (*std::prev(copied))->getOwner() : nullptr;
}

/// Whether two parts of one buffer have nothing in common, as far as is known.
bool areApart(Value a, Value b) {
  auto first = a.getDefiningOp<memref::SubViewOp>(), second = b.getDefiningOp<memref::SubViewOp>();
  if (!first || !second || first.getSource() != second.getSource())
    return false;
  auto isKnown = [](int64_t n) { return !ShapedType::isDynamic(n); };
  for (auto [from, size, other, otherSize, step, otherStep] : llvm::zip_equal(
           first.getStaticOffsets(), first.getStaticSizes(), second.getStaticOffsets(),
           second.getStaticSizes(), first.getStaticStrides(), second.getStaticStrides()))
    if (isKnown(from) && isKnown(size) && isKnown(other) && isKnown(otherSize) && step == 1 &&
        otherStep == 1 && (from + size <= other || other + otherSize <= from))
      return true;
  return false;
}

/// Whether from a kernel on up to a copy into `target` nothing has to do with the memory that
/// `buffer` is of but copies of other parts, and the kernel, which fills others.
bool isUntouched(Value buffer, Value target, Operation *writer, Operation *copy) {
  return llvm::all_of(buffer.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<ViewLikeOpInterface>(user))
      return isUntouched(user->getResult(0), target, writer, copy);
    if (isa<memref::DimOp>(user))
      return true;
    Operation *outer = writer->getBlock()->findAncestorOpInBlock(*user);
    if (outer == writer)
      return user == writer && fills(use) && areApart(buffer, target);
    if (!outer || outer->isBeforeInBlock(writer) || !outer->isBeforeInBlock(copy))
      return true;
    return isa<memref::CopyOp>(user) && areApart(buffer, target);
  });
}

/// What must be moved so that `value` is there in front of `op`, in its order; false: it cannot be.
bool collect(Value value, Operation *op, llvm::SetVector<Operation *> &moved) {
  Operation *from = value.getDefiningOp();
  if (!from || from->getBlock() != op->getBlock() || from->isBeforeInBlock(op))
    return true;
  if (from == op || from->getNumRegions() ||
      (!isMemoryEffectFree(from) && !isa<memref::AllocOp>(from)))
    return false;
  for (Value operand : from->getOperands())
    if (!collect(operand, op, moved))
      return false;
  moved.insert(from);
  return true;
}

void rewrite(memref::CopyOp copy) {
  auto buffer = copy.getSource().getDefiningOp<memref::AllocOp>();
  Operation *writer = buffer ? writerOf(buffer, copy) : nullptr;
  Value target = copy.getTarget();
  llvm::SetVector<Operation *> moved;
  if (!writer ||
      !isUntouched(memref::skipViewLikeOps(cast<MemrefValue>(target)), target, writer, copy) ||
      !collect(target, writer, moved))
    return;
  for (Operation *op : moved)
    op->moveBefore(writer);
  copy.erase();
  for (OpOperand &use : llvm::make_early_inc_range(buffer->getUses()))
    if (use.getOwner() == writer)
      use.set(target);
  if (buffer->use_empty())
    buffer.erase();
}

struct InsertResultsPass : mlir::transformer::impl::InsertResultsBase<InsertResultsPass> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<memref::CopyOp> copies;
    getOperation()->walk([&](memref::CopyOp op) { copies.push_back(op); });
    llvm::for_each(copies, rewrite);
  }
};

} // namespace
