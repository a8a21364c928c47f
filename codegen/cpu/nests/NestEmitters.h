//===- NestEmitters.h - one emitter a kernel ------------------------------===//
#ifndef CODEGEN_CPU_NESTS_NESTEMITTERS_H
#define CODEGEN_CPU_NESTS_NESTEMITTERS_H

#include "codegen/cpu/dialect/CpuDialect.h"
#include "codegen/cpu/nests/Emit.h"

namespace mlir::transformer {

/// Each emits its op's nest before the op, which stays; one that returns a value gives what
/// replaces the op's result.
Value emitNest(Emit &b, kernel::CountTokensOp op);
void emitNest(Emit &b, kernel::PackTokensOp op);
Value emitNest(Emit &b, kernel::CountLabelledTokensOp op);
void emitNest(Emit &b, kernel::LabelledTokensOp op);
void emitNest(Emit &b, kernel::UniformSequencesOp op);
void emitNest(Emit &b, kernel::TokenColumnsOp op);
void emitNest(Emit &b, kernel::UnpackTokensOp op);
void emitNest(Emit &b, kernel::FirstTokenOp op);
void emitNest(Emit &b, kernel::EmbeddingOp op);
void emitNest(Emit &b, kernel::PatchesOp op);
void emitNest(Emit &b, kernel::WindowsOp op);
void emitNest(Emit &b, kernel::LayerNormOp op);
void emitNest(Emit &b, kernel::AttentionOp op);
void emitNest(Emit &b, kernel::RelativeScoresOp op);
void emitNest(Emit &b, kernel::AppendPagesOp op);
void emitNest(Emit &b, kernel::PagedAttentionOp op);
void emitNest(Emit &b, kernel::SinusoidalTableOp op);
void emitNest(Emit &b, kernel::RotaryTableOp op);
void emitNest(Emit &b, kernel::RotaryEmbeddingOp op);
void emitNest(Emit &b, kernel::ShiftLabelsOp op);
void emitNest(Emit &b, kernel::CrossEntropyOp op);
void emitNest(Emit &b, kernel::CrossEntropyGradientOp op);
void emitNest(Emit &b, kernel::ElementLossOp op);
void emitNest(Emit &b, kernel::ElementLossGradientOp op);
void emitNest(Emit &b, kernel::CountLabelsOp op);
void emitNest(Emit &b, kernel::CountSpansOp op);
void emitNest(Emit &b, kernel::SpanLossOp op);
void emitNest(Emit &b, kernel::SpanLossGradientOp op);
void emitNest(Emit &b, kernel::SumRowsOp op);
void emitNest(Emit &b, kernel::SumSquaresOp op);
void emitNest(Emit &b, kernel::AdafactorUpdateOp op);
void emitNest(Emit &b, kernel::NormGradientOp op);
void emitNest(Emit &b, kernel::EmbeddingGradientOp op);
void emitNest(Emit &b, kernel::WindowsGradientOp op);
void emitNest(Emit &b, kernel::RelativeScoresGradientOp op);
void emitNest(Emit &b, kernel::TokenGradientOp op);
void emitNest(Emit &b, kernel::DropoutOp op);
void emitNest(Emit &b, kernel::AttentionGradientOp op);
void emitNest(Emit &b, cpu::WeightGradientOp op);
void emitNest(Emit &b, cpu::PackWeightOp op);
void emitNest(Emit &b, cpu::SplitPanelsOp op);
void emitNest(Emit &b, cpu::WeightScalesOp op);
void emitNest(Emit &b, cpu::Int4RowsOp op);
void emitNest(Emit &b, cpu::IntegerRowsOp op);
void emitNest(Emit &b, cpu::Bfloat16RowsOp op);
void emitNest(Emit &b, cpu::SampleSquaresOp op);
void emitNest(Emit &b, cpu::WinogradScalesOp op);
void emitNest(Emit &b, cpu::WinogradRowsOp op);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_NESTS_NESTEMITTERS_H
