//===- KernelDialect.h - destination-style kernels ------------------------===//
#ifndef CODEGEN_KERNELS_KERNELDIALECT_H
#define CODEGEN_KERNELS_KERNELDIALECT_H

#include "dialect/TransformerDialect.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

#include "codegen/kernels/KernelDialect.h.inc"

namespace mlir::transformer::kernel {

/// The effects of a destination-style op: on memrefs it reads its ins and writes its outs, on
/// tensors it is pure.
using Effects = SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;
void addKernelEffects(Operation *op, Effects &effects);

/// bf16 or f16: what some kernels also take for f32.
inline bool isHalf(Type type) { return type.isBF16() || type.isF16(); }
/// What rows that are rounded hold: 16 bits for each number, or words of two bfloat16.
inline bool isRounded(Type type) { return isHalf(type) || type.isInteger(32); }

} // namespace mlir::transformer::kernel

#define GET_OP_CLASSES
#include "codegen/kernels/KernelOps.h.inc"

namespace mlir::transformer::kernel {

/// Lets one-shot bufferisation handle the dialect's ops.
void registerBufferization(DialectRegistry &registry);

/// The result of a kernel on tensors goes to `out`, whose type it takes.
void setOut(OpResult result, Value out);

/// `op`, a kernel on tensors, with one more out. The new result is the last.
Operation *withOut(DestinationStyleOpInterface op, Value out);

} // namespace mlir::transformer::kernel

#endif // CODEGEN_KERNELS_KERNELDIALECT_H
