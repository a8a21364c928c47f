//===- AttentionBlocks.h - attention by blocks of threads -------*- C++ -*-===//
#ifndef CODEGEN_GPU_NESTS_ATTENTIONBLOCKS_H
#define CODEGEN_GPU_NESTS_ATTENTIONBLOCKS_H

#include "codegen/gpu/nests/AttentionTile.h"

namespace mlir::transformer::simt {

using KeysOf = function_ref<Keys(Value sequence)>;

/// What a block's tile needs.
struct TileNeeds {
  // In shared memory: vectors of rows and of columns, and numbers for each place of the tile.
  int64_t rowVectors, columnVectors, weights;
  int64_t sums;         // vectors for each row, in registers
  int64_t otherNumbers; // likewise, that options of attention take
};

/// The largest tile that a block can have; nothing where even a row a thread is too much, or where
/// some of the vectors that it copies are not whole fours of numbers.
std::optional<TileShape> chooseTile(const GpuTarget &target, int64_t headDim, ValueRange copied,
                                    const TileNeeds &needs);

/// Registers of a thread for each of its rows that an op's options take, measured by what spilled.
template <typename Op> int64_t numbersOfOptions(Op op) {
  int64_t count = op.getPositionBias() ? 4 : 0;
  if constexpr (requires { op.getDropoutKey(); })
    count += op.getDropoutKey() ? 8 : 0;
  return count;
}

/// Forward, where there is a tile for it: emitted or not.
bool emitAttentionBlocks(Loops &b, kernel::AttentionOp op, KeysOf keysOf);
bool emitAttentionBlocks(Loops &b, kernel::PagedAttentionOp op, KeysOf keysOf);

/// Likewise, on rows of bf16 or f16; by wgmma where the target has it and takes the op's rows.
bool emitAttentionTensorCores(Loops &b, kernel::AttentionOp op);
bool emitAttentionTensorCores(Loops &b, kernel::PagedAttentionOp op);
bool emitAttentionWarpgroups(Loops &b, kernel::AttentionOp op);

/// What the backward pass has besides its op's operands.
struct GradientBuffers {
  Value deltas; // [Tq, heads]: products of the result and its gradient
  Value dbias;  // [Tq, heads * biasColumns]: what a query adds to a bias's gradient, or null
  int64_t biasColumns;
};

/// Backward but for the sum of `dbias`, where there are tiles for it: emitted or not.
bool emitAttentionGradientBlocks(Loops &b, kernel::AttentionGradientOp op,
                                 const GradientBuffers &buffers);
bool emitAttentionGradientTensorCores(Loops &b, kernel::AttentionGradientOp op,
                                      const GradientBuffers &buffers);

} // namespace mlir::transformer::simt

#endif // CODEGEN_GPU_NESTS_ATTENTIONBLOCKS_H
