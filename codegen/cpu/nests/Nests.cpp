//===- Nests.cpp - kernels to loop nests ----------------------------------===//
#include "codegen/cpu/nests/Nests.h"
#include "codegen/cpu/nests/NestEmitters.h"
#include "codegen/kernels/Dispatch.h"

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

LogicalResult transformer::emitKernelNests(Operation *root, cpu::TargetAttr target) {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    // Parameters stay symbolic until the module ABI gives them slots; loops keep what they say.
    if (isa_and_nonnull<kernel::KernelDialect, cpu::CpuDialect>(op->getDialect()) &&
        !isa<kernel::GetParameterOp, kernel::WorkOp>(op) && !op->hasTrait<cpu::OnMatrixRegisters>())
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    if (failed(checkBuffers(op)))
      return failure();
    Emit b(op, target);
    auto emit = [&](auto typed)
      requires requires { emitNest(b, typed); }
    { return emitNest(b, typed); };
    bool emitted = kernel::emitAs<
#define GET_OP_LIST
#include "codegen/kernels/KernelOps.cpp.inc"
                       >(op, emit) ||
                   kernel::emitAs<
#define GET_OP_LIST
#include "codegen/cpu/dialect/CpuOps.cpp.inc"
                       >(op, emit);
    if (!emitted)
      return op->emitOpError("has no loop nest on a CPU");
    op->erase();
  }
  return success();
}
