//===- ExpandVectorMath.cpp - math ops to vector arithmetic ---------------===//
#include "codegen/cpu/nests/VectorMath.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::transformer;

/// math.fma would call a library where the target has no such instruction;
/// these become a multiply and an add there. Scalar loops are LLVM's to vectorise.
static Group emitMultiplyAdd(ImplicitLocOpBuilder &b, ValueRange x) {
  if (isa<VectorType>(x[0].getType()))
    return {vector::FMAOp::create(b, x[0], x[1], x[2])};
  return {LLVM::FMulAddOp::create(b, x[0], x[1], x[2])};
}

LogicalResult transformer::expandVectorMath(Operation *root) {
  using Emitter = Group (*)(ImplicitLocOpBuilder &, ValueRange);
  SmallVector<std::pair<Operation *, Emitter>> ops;
  root->walk([&](Operation *op) {
    Emitter emitter = llvm::TypeSwitch<Operation *, Emitter>(op)
                          .Case([](math::ExpOp) { return emitExp; })
                          .Case([](math::Exp2Op) { return emitExp2; })
                          .Case([](math::TanhOp) { return emitTanh; })
                          .Case([](math::ErfOp) { return emitErf; })
                          .Case([](math::FmaOp) { return emitMultiplyAdd; })
                          .Default(nullptr);
    if (emitter && getElementTypeOrSelf(op->getOperand(0)).isF32() &&
        isa<FloatType, VectorType>(op->getOperand(0).getType()))
      ops.push_back({op, emitter});
  });
  for (auto [op, emitter] : ops) {
    ImplicitLocOpBuilder b(op->getLoc(), op);
    op->getResult(0).replaceAllUsesWith(emitter(b, op->getOperands()).front());
    op->erase();
  }
  return success();
}
