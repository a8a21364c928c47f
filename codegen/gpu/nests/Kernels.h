//===- Kernels.h - the kernels as threads -----------------------*- C++ -*-===//
//
// Plain ones, a block a row of norms and losses, a thread some numbers; attention and matrix
// products by blocks of threads where there is a target for them.
//
//===----------------------------------------------------------------------===//
#ifndef CODEGEN_GPU_NESTS_KERNELS_H
#define CODEGEN_GPU_NESTS_KERNELS_H

#include "codegen/gpu/dialect/GpuDialect.h"
#include "codegen/gpu/nests/Loops.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::transformer::simt {

/// Each emits its op's threads before the op, which stays; one that returns a value gives what
/// replaces the op's result. Failure: an error at the op.
Value emitKernel(Loops &b, kernel::CountTokensOp op);
void emitKernel(Loops &b, kernel::PackTokensOp op);
Value emitKernel(Loops &b, kernel::CountLabelledTokensOp op);
void emitKernel(Loops &b, kernel::LabelledTokensOp op);
void emitKernel(Loops &b, kernel::UniformSequencesOp op);
void emitKernel(Loops &b, kernel::TokenColumnsOp op);
void emitKernel(Loops &b, kernel::UnpackTokensOp op);
void emitKernel(Loops &b, kernel::FirstTokenOp op);
void emitKernel(Loops &b, kernel::EmbeddingOp op);
void emitKernel(Loops &b, kernel::PatchesOp op);
void emitKernel(Loops &b, kernel::WindowsOp op);
void emitKernel(Loops &b, kernel::LayerNormOp op);
void emitKernel(Loops &b, kernel::AttentionOp op);
void emitKernel(Loops &b, kernel::RelativeScoresOp op);
void emitKernel(Loops &b, kernel::PagedAttentionOp op);
void emitKernel(Loops &b, kernel::AppendPagesOp op);
void emitKernel(Loops &b, kernel::SinusoidalTableOp op);
void emitKernel(Loops &b, kernel::RotaryTableOp op);
void emitKernel(Loops &b, kernel::RotaryEmbeddingOp op);
void emitKernel(Loops &b, kernel::ShiftLabelsOp op);
void emitKernel(Loops &b, kernel::CrossEntropyOp op);
void emitKernel(Loops &b, kernel::CrossEntropyGradientOp op);
void emitKernel(Loops &b, kernel::ElementLossOp op);
void emitKernel(Loops &b, kernel::ElementLossGradientOp op);
void emitKernel(Loops &b, kernel::CountLabelsOp op);
void emitKernel(Loops &b, kernel::CountSpansOp op);
void emitKernel(Loops &b, kernel::SpanLossOp op);
void emitKernel(Loops &b, kernel::SpanLossGradientOp op);
void emitKernel(Loops &b, kernel::SumRowsOp op);
void emitKernel(Loops &b, kernel::SumSquaresOp op);
void emitKernel(Loops &b, kernel::AdafactorUpdateOp op);
void emitKernel(Loops &b, kernel::NormGradientOp op);
void emitKernel(Loops &b, kernel::EmbeddingGradientOp op);
void emitKernel(Loops &b, kernel::WindowsGradientOp op);
void emitKernel(Loops &b, kernel::RelativeScoresGradientOp op);
void emitKernel(Loops &b, kernel::TokenGradientOp op);
void emitKernel(Loops &b, kernel::DropoutOp op);
void emitKernel(Loops &b, kernel::AttentionGradientOp op);
void emitKernel(Loops &b, linalg::LinalgOp op);
void emitKernel(Loops &b, ProductOp op);

/// Whether rows of bf16 or f16 can be what attention multiplies: on tensor cores, or where there is
/// no target, by threads.
bool hasTensorCoreAttention(kernel::AttentionOp op, const GpuTarget *target);
bool hasTensorCoreAttention(kernel::AttentionGradientOp op, const GpuTarget *target);
bool hasTensorCoreAttention(kernel::PagedAttentionOp op, const GpuTarget *target);

/// Whether a linalg op adds terms along one loop: a matrix product, of whatever the operands hold.
bool isSumOfTerms(linalg::LinalgOp op);
/// Whether what a linalg op computes of elements depends on other places of a tensor or buffer.
bool readsOtherPlaces(linalg::LinalgOp op);
/// Whether a linalg op computes each element of its results alone, in rows of which a thread can
/// take several.
bool isElementwise(linalg::LinalgOp op);
/// A thread for several elements.
void emitElementwise(Loops &b, linalg::LinalgOp op);

} // namespace mlir::transformer::simt

#endif // CODEGEN_GPU_NESTS_KERNELS_H
