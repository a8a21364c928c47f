//===- NestEmitters.h - one emitter a kernel ------------------------------===//
#ifndef CODEGEN_CPU_NESTS_NESTEMITTERS_H
#define CODEGEN_CPU_NESTS_NESTEMITTERS_H

#include "codegen/cpu/nests/Emit.h"
#include "codegen/kernels/KernelDialect.h"

namespace mlir::transformer {

/// Each emits its op's nest before the op, which stays. `count_tokens` returns
/// the value that replaces its result.
Value emitCountTokens(Emit &b, kernel::CountTokensOp op);
void emitPackTokens(Emit &b, kernel::PackTokensOp op);
void emitUnpackTokens(Emit &b, kernel::UnpackTokensOp op);
void emitFirstToken(Emit &b, kernel::FirstTokenOp op);
void emitEmbedding(Emit &b, kernel::EmbeddingOp op);
void emitLayerNorm(Emit &b, kernel::LayerNormOp op);
void emitAttention(Emit &b, kernel::AttentionOp op);
void emitSinusoidalTable(Emit &b, kernel::SinusoidalTableOp op);
void emitRotaryTable(Emit &b, kernel::RotaryTableOp op);
void emitRotaryEmbedding(Emit &b, kernel::RotaryEmbeddingOp op);
void emitPackWeight(Emit &b, kernel::PackWeightOp op);
void emitSampleSquares(Emit &b, kernel::SampleSquaresOp op);
void emitWinogradScales(Emit &b, kernel::WinogradScalesOp op);
void emitWinogradPanels(Emit &b, kernel::WinogradPanelsOp op);
void emitWinogradRows(Emit &b, kernel::WinogradRowsOp op);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_NESTS_NESTEMITTERS_H
