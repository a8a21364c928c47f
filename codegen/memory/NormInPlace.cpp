//===- NormInPlace.cpp - rows normalised where they stand -----------------===//
#include "codegen/Passes.h"
#include "codegen/kernels/KernelDialect.h"
#include "codegen/memory/DestinationPassing.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_NORMINPLACE
#include "codegen/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Whether `x` is all of what an op writes to memory of its own.
bool isOwnBuffer(Value x) {
  Operation *op = x.getDefiningOp();
  while (isa_and_nonnull<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return isa_and_nonnull<DestinationStyleOpInterface>(op);
}

struct NormInPlacePass : mlir::transformer::impl::NormInPlaceBase<NormInPlacePass> {
  using Base::Base;
  void runOnOperation() override {
    getOperation()->walk([](kernel::LayerNormOp op) {
      Value x = op.getX();
      OpOperand &out = op.getOutsMutable()[op.getSum() ? 1 : 0];
      if (isOwnBuffer(x) && hasOneReader(x) && x.getType() == out.get().getType() &&
          out.get().getDefiningOp<tensor::EmptyOp>())
        out.set(x);
    });
  }
};

} // namespace
