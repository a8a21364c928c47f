//===- EmitKernels.cpp - kernels on buffers to threads --------------------===//
#include "codegen/gpu/Passes.h"
#include "codegen/gpu/Target.h"
#include "codegen/gpu/nests/Doubles.h"
#include "codegen/gpu/nests/KernelWork.h"
#include "codegen/gpu/nests/Kernels.h"
#include "codegen/kernels/Dispatch.h"
#include "codegen/math/VectorMath.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_EMITGPUKERNELS
#include "codegen/gpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// A copy is an elementwise op.
void rewriteCopy(memref::CopyOp op) {
  simt::Loops b(op);
  unsigned rank = cast<MemRefType>(op.getTarget().getType()).getRank();
  if (rank == 0) {
    b.once([&] { b.store(b.load(op.getSource(), {}), op.getTarget(), {}); });
  } else {
    AffineMap all = b.getMultiDimIdentityMap(rank);
    SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
    linalg::GenericOp::create(b, op.getSource(), op.getTarget(), ArrayRef{all, all}, loops,
                              [](OpBuilder &inner, Location loc, ValueRange values) {
                                linalg::YieldOp::create(inner, loc, values.front());
                              });
  }
  op.erase();
}

struct EmitGpuKernelsPass : mlir::transformer::impl::EmitGpuKernelsBase<EmitGpuKernelsPass> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      bool isKernel = isa_and_nonnull<kernel::KernelDialect>(op->getDialect()) &&
                      !isa<kernel::GetParameterOp>(op);
      auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
      if (isKernel || isa<simt::ProductOp>(op) || (linalgOp && simt::isSumOfTerms(linalgOp)))
        ops.push_back(op);
    });
    const GpuTarget *target = gpuTargetOf(getOperation());
    for (Operation *op : ops) {
      simt::Loops b(op, target);
      auto [work, amounts] = simt::workOf(b, op);
      b.describe(work, amounts);
      auto emit = [&](auto typed)
        requires requires { simt::emitKernel(b, typed); }
      { return simt::emitKernel(b, typed); };
      bool emitted = kernel::emitAs<linalg::LinalgOp, simt::ProductOp>(op, emit) || kernel::emitAs<
#define GET_OP_LIST
#include "codegen/kernels/KernelOps.cpp.inc"
                                                                                        >(op, emit);
      if (!emitted) {
        op->emitOpError("has no kernel on a GPU");
        return signalPassFailure();
      }
      b.numberParts();
      op->erase();
    }
    SmallVector<memref::CopyOp> copies;
    getOperation()->walk([&](memref::CopyOp op) { copies.push_back(op); });
    llvm::for_each(copies, rewriteCopy);
    if (target)
      emitElementwiseOps(target);
    if (failed(emitOtherLoops()))
      return signalPassFailure();
    simt::expandDoubleMath(getOperation());
    if (failed(expandVectorMath(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult emitOtherLoops() {
    SmallVector<linalg::LinalgOp> ops;
    getOperation()->walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    IRRewriter b(&getContext());
    for (linalg::LinalgOp op : ops) {
      b.setInsertionPoint(op);
      if (failed(linalg::linalgOpToParallelLoops(b, op)))
        return op->emitOpError("has no loops on a GPU");
      b.eraseOp(op);
    }
    return success();
  }

  void emitElementwiseOps(const GpuTarget *target) {
    SmallVector<linalg::LinalgOp> ops;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (simt::isElementwise(op))
        ops.push_back(op);
    });
    for (linalg::LinalgOp op : ops) {
      simt::Loops b(op, target);
      simt::emitElementwise(b, op);
      op->erase();
    }
  }
};

} // namespace
