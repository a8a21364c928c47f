//===- Nests.cpp - kernels to loop nests ----------------------------------===//
#include "codegen/cpu/nests/Nests.h"
#include "codegen/cpu/nests/NestEmitters.h"
#include "llvm/ADT/TypeSwitch.h"

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
        !isa<kernel::GetParameterOp, kernel::WorkOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    if (failed(checkBuffers(op)))
      return failure();
    Emit b(op, target);
    Value result;
    LogicalResult known =
        llvm::TypeSwitch<Operation *, LogicalResult>(op)
            .Case(
                [&](kernel::CountTokensOp o) { return result = emitCountTokens(b, o), success(); })
            .Case([&](kernel::PackTokensOp o) { return emitPackTokens(b, o), success(); })
            .Case([&](kernel::UnpackTokensOp o) { return emitUnpackTokens(b, o), success(); })
            .Case([&](kernel::FirstTokenOp o) { return emitFirstToken(b, o), success(); })
            .Case([&](kernel::EmbeddingOp o) { return emitEmbedding(b, o), success(); })
            .Case([&](kernel::LayerNormOp o) { return emitLayerNorm(b, o), success(); })
            .Case([&](kernel::AttentionOp o) { return emitAttention(b, o), success(); })
            .Case([&](kernel::SinusoidalTableOp o) { return emitSinusoidalTable(b, o), success(); })
            .Case([&](kernel::RotaryTableOp o) { return emitRotaryTable(b, o), success(); })
            .Case([&](kernel::RotaryEmbeddingOp o) { return emitRotaryEmbedding(b, o), success(); })
            .Case([&](cpu::PackWeightOp o) { return emitPackWeight(b, o), success(); })
            .Case([&](cpu::SampleSquaresOp o) { return emitSampleSquares(b, o), success(); })
            .Case([&](cpu::WinogradScalesOp o) { return emitWinogradScales(b, o), success(); })
            .Case([&](cpu::WinogradRowsOp o) { return emitWinogradRows(b, o), success(); })
            .Default([](Operation *o) { return o->emitOpError("has no loop nest on a CPU"); });
    if (failed(known))
      return failure();
    if (result)
      op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }
  return success();
}
