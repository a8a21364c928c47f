//===- MathToIntrinsics.cpp - functions that a GPU has instructions for ---===//
#include "codegen/gpu/Passes.h"
#include "codegen/gpu/dialect/GpuDialect.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_MATHTOINTRINSICS
#include "codegen/gpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// LLVM's intrinsic; empty where there is no instruction.
StringRef intrinsicOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case([](math::AbsFOp) { return "llvm.fabs"; })
      .Case([](math::CeilOp) { return "llvm.ceil"; })
      .Case([](math::CopySignOp) { return "llvm.copysign"; })
      .Case([](math::FmaOp) { return "llvm.fma"; })
      .Case([](math::RoundEvenOp) { return "llvm.roundeven"; })
      .Case([](math::SqrtOp) { return "llvm.sqrt"; })
      .Default([](Operation *) { return ""; });
}

Value roundToTf32(simt::RoundTf32Op op) {
  OpBuilder b(op);
  Value bits =
      LLVM::InlineAsmOp::create(b, op.getLoc(), b.getI32Type(), op->getOperands(),
                                "cvt.rna.tf32.f32 $0, $1;", "=r,f", /*has_side_effects=*/false,
                                /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
                                LLVM::AsmDialectAttr(), ArrayAttr())
          .getResult(0);
  return LLVM::BitcastOp::create(b, op.getLoc(), b.getF32Type(), bits);
}

struct MathToIntrinsicsPass : mlir::transformer::impl::MathToIntrinsicsBase<MathToIntrinsicsPass> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa_and_nonnull<math::MathDialect>(op->getDialect()))
        ops.push_back(op);
    });
    getOperation()->walk([](simt::RoundTf32Op op) {
      op.replaceAllUsesWith(roundToTf32(op));
      op.erase();
    });
    for (Operation *op : ops) {
      StringRef name = intrinsicOf(op);
      if (name.empty()) {
        op->emitOpError("is a function of a device library");
        return signalPassFailure();
      }
      OpBuilder b(op);
      auto call = LLVM::CallIntrinsicOp::create(b, op->getLoc(), op->getResultTypes().front(),
                                                b.getStringAttr(name), op->getOperands());
      op->replaceAllUsesWith(call->getResults());
      op->erase();
    }
  }
};

} // namespace
