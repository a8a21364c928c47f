//===- NestEmitters.h - one emitter a kernel ------------------------------===//
#ifndef CODEGEN_CPU_NESTS_NESTEMITTERS_H
#define CODEGEN_CPU_NESTS_NESTEMITTERS_H

#include "codegen/cpu/dialect/CpuDialect.h"
#include "codegen/cpu/nests/Emit.h"

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
void emitPackWeight(Emit &b, cpu::PackWeightOp op);
void emitSampleSquares(Emit &b, cpu::SampleSquaresOp op);
void emitWinogradScales(Emit &b, cpu::WinogradScalesOp op);
void emitWinogradRows(Emit &b, cpu::WinogradRowsOp op);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_NESTS_NESTEMITTERS_H
