//===- RowsInPlace.cpp - rows replaced where they stand -------------------===//
#include "codegen/Passes.h"
#include "codegen/kernels/KernelDialect.h"
#include "codegen/memory/DestinationPassing.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_ROWSINPLACE
#include "codegen/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Whether `x` is what an op writes to memory of its own, all of it or, where there is nothing else
/// that is read, a part.
bool isOwnBuffer(Value x) {
  Operation *op = x.getDefiningOp();
  while (isa_and_nonnull<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op) ||
         (isa_and_nonnull<tensor::ExtractSliceOp>(op) && hasOneReader(op->getOperand(0))))
    op = op->getOperand(0).getDefiningOp();
  return isa_and_nonnull<DestinationStyleOpInterface>(op);
}

/// Whether nobody reads `x` behind `op`.
bool readsLast(Operation *op, Value x) {
  return llvm::all_of(x.getUsers(), [&](Operation *user) {
    return user == op || isa<tensor::DimOp>(user) ||
           (user->getBlock() == op->getBlock() && user->isBeforeInBlock(op));
  });
}

void writeTo(OpOperand &out, Value x) {
  if (isOwnBuffer(x) && x.getType() == out.get().getType() &&
      out.get().getDefiningOp<tensor::EmptyOp>())
    out.set(x);
}

struct RowsInPlacePass : mlir::transformer::impl::RowsInPlaceBase<RowsInPlacePass> {
  using Base::Base;
  void runOnOperation() override {
    getOperation()->walk([](kernel::LayerNormOp op) {
      if (hasOneReader(op.getX()))
        writeTo(op.getOutsMutable()[op.getSum() ? 1 : 0], op.getX());
    });
    getOperation()->walk([](kernel::CrossEntropyGradientOp op) {
      if (readsLast(op, op.getLogits()))
        writeTo(op.getOutsMutable()[0], op.getLogits());
    });
  }
};

} // namespace
