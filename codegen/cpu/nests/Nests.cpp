//===- Nests.cpp - kernels to loop nests ----------------------------------===//
#include "codegen/cpu/nests/Nests.h"
#include "codegen/cpu/nests/NestEmitters.h"

using namespace mlir;
using namespace mlir::transformer;

/// Whether nests can address every buffer of the op.
static LogicalResult checkBuffers(Operation *op) {
  for (Value operand : op->getOperands()) {
    if (isa<TensorType>(operand.getType()))
      return op->emitOpError("is still on tensors; expected buffers");
    auto type = dyn_cast<MemRefType>(operand.getType());
    if (!type)
      continue;
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(type.getStridesAndOffset(strides, offset)) ||
        (!strides.empty() && strides.back() != 1))
      return op->emitOpError("has the buffer ") << type << "; expected a contiguous last dimension";
  }
  return success();
}

/// Emits the nest of `op`, if it is an OpTy and there is one.
template <typename OpTy> static bool emitIf(Emit &b, Operation *op) {
  auto typed = dyn_cast<OpTy>(op);
  if (!typed)
    return false;
  if constexpr (requires { emitNest(b, typed); }) {
    if constexpr (std::is_void_v<decltype(emitNest(b, typed))>)
      emitNest(b, typed);
    else
      op->getResult(0).replaceAllUsesWith(emitNest(b, typed));
    return true;
  }
  return false;
}

template <typename... OpTys> static bool emitAny(Emit &b, Operation *op) {
  return (emitIf<OpTys>(b, op) || ...);
}

LogicalResult transformer::emitKernelNests(Operation *root, cpu::TargetAttr target) {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    // Parameters stay symbolic until the module ABI gives them slots; loops keep what they say.
    if (isa_and_nonnull<kernel::KernelDialect, cpu::CpuDialect>(op->getDialect()) &&
        !isa<kernel::GetParameterOp, kernel::WorkOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    if (failed(checkBuffers(op)))
      return failure();
    Emit b(op, target);
    bool emitted = emitAny<
#define GET_OP_LIST
#include "codegen/kernels/KernelOps.cpp.inc"
                       >(b, op) ||
                   emitAny<
#define GET_OP_LIST
#include "codegen/cpu/dialect/CpuOps.cpp.inc"
                       >(b, op);
    if (!emitted)
      return op->emitOpError("has no loop nest on a CPU");
    op->erase();
  }
  return success();
}
