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

} // namespace mlir::transformer::simt

#endif // CODEGEN_GPU_NESTS_ATTENTIONBLOCKS_H
