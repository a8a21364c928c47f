//===- ExpandVectorMath.cpp - math ops to vector arithmetic ---------------===//
#include "codegen/math/VectorMath.h"
#include "dialect/GradientOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

using Emitter = Group (*)(ImplicitLocOpBuilder &, ValueRange);

Emitter functionEmitter(Operation *op) {
  return llvm::TypeSwitch<Operation *, Emitter>(op)
      .Case([](math::ExpOp) { return emitExp; })
      .Case([](math::Exp2Op) { return emitExp2; })
      .Case([](math::TanhOp) { return emitTanh; })
      .Case([](math::ErfOp) { return emitErf; })
      .Case([](ActivationOp activation) { return activationEmitter(activation.getKind()); })
      .Case([](ActivationGradientOp gradient) {
        return activationGradientEmitter(gradient.getKind());
      })
      .Default(nullptr);
}

/// math.fma would call a library where the target has no such instruction;
/// these become a multiply and an add there. Scalar loops are LLVM's to vectorise.
Group emitMultiplyAdd(ImplicitLocOpBuilder &b, ValueRange x) {
  if (isa<VectorType>(x[0].getType()))
    return {vector::FMAOp::create(b, x[0], x[1], x[2])};
  return {LLVM::FMulAddOp::create(b, x[0], x[1], x[2])};
}

Emitter multiplyAddEmitter(Operation *op) {
  return isa<math::FmaOp>(op) ? emitMultiplyAdd : nullptr;
}

/// Replaces every op on f32 or vectors of it that has an emitter.
void replaceOps(Operation *root, Emitter (*emitterOf)(Operation *)) {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    if (emitterOf(op) && getElementTypeOrSelf(op->getOperand(0)).isF32() &&
        isa<FloatType, VectorType>(op->getOperand(0).getType()))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    ImplicitLocOpBuilder b(op->getLoc(), op);
    op->getResult(0).replaceAllUsesWith(emitterOf(op)(b, op->getOperands()).front());
    op->erase();
  }
}

} // namespace

LogicalResult transformer::expandVectorMath(Operation *root) {
  replaceOps(root, functionEmitter);
  replaceOps(root, multiplyAddEmitter); // the functions of scalars have some
  return success();
}
