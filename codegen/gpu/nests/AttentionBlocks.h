//===- AttentionBlocks.h - attention by blocks of threads -------*- C++ -*-===//
#ifndef CODEGEN_GPU_NESTS_ATTENTIONBLOCKS_H
#define CODEGEN_GPU_NESTS_ATTENTIONBLOCKS_H

#include "codegen/gpu/nests/AttentionTile.h"

namespace mlir::transformer::simt {

using KeysOf = function_ref<Keys(Value sequence)>;

/// The tile of a block that has in shared memory vectors of all its rows `rowVectors` times and of
/// its columns `columnVectors` times, and `weights` times a number for each place, and whose
/// threads add up `sums` vectors for each row; nothing where even a thread a row is too much.
std::optional<TileShape> chooseTile(const GpuTarget &target, int64_t headDim, int64_t rowVectors,
                                    int64_t columnVectors, int64_t weights, int64_t sums);

/// Forward, where there is a tile for it: emitted or not.
bool emitAttentionBlocks(Loops &b, kernel::AttentionOp op, KeysOf keysOf);
bool emitAttentionBlocks(Loops &b, kernel::PagedAttentionOp op, KeysOf keysOf);

/// What the backward pass has besides its op's operands.
struct GradientBuffers {
  Value deltas;      // [Tq, heads]: products of the result and its gradient
  Value dbias;       // [Tq, heads * biasColumns]: what a query adds to a bias's gradient, or null
  int64_t biasColumns;
  Value dqueryScores, dkeyScores; // or null
};

/// Backward but for the sum of `dbias`, where there are tiles for it: emitted or not.
bool emitAttentionGradientBlocks(Loops &b, kernel::AttentionGradientOp op,
                                 const GradientBuffers &buffers);

} // namespace mlir::transformer::simt

#endif // CODEGEN_GPU_NESTS_ATTENTIONBLOCKS_H
