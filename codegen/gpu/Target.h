//===- Target.h - what a GPU has, and what was chosen for it ----*- C++ -*-===//
#ifndef CODEGEN_GPU_TARGET_H
#define CODEGEN_GPU_TARGET_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace mlir::transformer {

/// What a block computes of a matrix product.
struct ProductTile {
  int64_t rows, columns;             // of the result
  int64_t depth;                     // of the sum, in shared memory at once
  int64_t stages;                    // of shared memory: all but one are on their way
  int64_t rowsOfPart, columnsOfPart; // a thread's; with tensor cores a warp's or warpgroup's
  int64_t partThreads = 1;           // that have a part: 32 by mma.sync, 128 by wgmma
  int64_t copyThreads = 0; // more of a block, which copy for them; 0: they do so themselves
  int64_t parts() const { return rows / rowsOfPart * (columns / columnsOfPart); }
  int64_t threads() const { return parts() * partThreads + copyThreads; }
};

/// A GPU's numbers; tiles follow from them.
struct GpuTarget {
  llvm::StringRef arch;
  llvm::StringRef features;  // the oldest PTX that knows it
  int64_t sharedMemoryBytes; // of a block, at most

  /// Whether a kernel may be started while those before it run, and waits for them by itself.
  bool startsEarly = false;

  /// Attention. A warp has four times `rowsOfThread` rows of a tile.
  int64_t attentionWarps = 4;
  int64_t attentionRowsOfThread =
      4;                         // fewer where they need more registers or memory than there are
  int64_t attentionKeys = 32;    // of a tile, a multiple of 32
  int64_t attentionNumbers = 64; // that a thread may sum at once in a tile's rows
  /// Keys whose softmax is made alone before it is joined with that of those before them: what a
  /// block takes of a sequence that has one new token.
  int64_t attentionSpan = 128;
  /// On tensor cores, by as many warps. A warp has 16 rows of a tile, or 32 where a thread then has
  /// at most so many sums of values.
  int64_t tensorAttentionKeys = 64; // of a tile, a multiple of 64; half where sums are more
  int64_t tensorAttentionSums = 64;
  int64_t tensorAttentionHeadDim = 256; // at most
  int64_t tensorGradientColumns = 64;   // backward, a multiple of 64; half where numbers are more
  int64_t tensorGradientNumbers = 160;  // a thread's sums and products

  /// Matrix products: of many rows, and of at most as many as the second tile has. Those are read
  /// at the memory's speed: blocks for all multiprocessors, with kilobytes on their way for each;
  /// bytes that hold one number or two are fewer.
  ProductTile product = {128, 128, 16, 3, 8, 8};
  ProductTile productOfFew = {16, 32, 64, 4, 1, 4};
  ProductTile packedProductOfFew = {16, 32, 256, 3, 1, 4};
  /// On tensor cores: a warp by mma.sync, or a warpgroup by wgmma, one of whose operands has 64
  /// rows and the other at most 256.
  ProductTile tensorProduct = {128, 128, 32, 4, 64, 32, 32};
  ProductTile tensorProductOfFew = {16, 32, 128, 4, 16, 16, 32};
  /// In place of the latter for results of at least so many columns. No columns: there is none.
  ProductTile wideTensorProductOfFew = {};
  int64_t leastWideColumns = 4096;
  /// In place of `tensorProduct` for results of at most so many columns, a multiple of its own, if
  /// then so many multiprocessors have less to do one after the other; of any number of rows where
  /// that is not known. No columns: there is none.
  ProductTile narrowTensorProduct = {};
  int64_t mostNarrowColumns = 4096, multiprocessors = 132;
  /// Of float32 rounded to TF32, a warp by mma.sync.
  ProductTile tf32Product = {128, 128, 32, 3, 64, 32, 32};
  ProductTile tf32ProductOfFew = {16, 32, 64, 4, 16, 16, 32};
  /// Tiles of rows, at most, whose blocks follow each other before those of the next columns: what
  /// is on the multiprocessors at once reads about as much of either operand.
  int64_t tensorProductGroup = 16;
  /// Of a block of many rows, further threads that copy boxes of matrices for the others, and the
  /// registers that each of either has then: no more than the block is launched with. 0: whoever
  /// multiplies copies.
  int64_t producerThreads = 0, producerRegisters = 0, consumerRegisters = 0;

  /// Rows of a vocabulary's scores that training makes at a time. Their backward has a block for
  /// each tile of them and a few of the model's width: of 512, a block for one multiprocessor in
  /// ten.
  int64_t rowsOfScores = 4096;

  /// Attention by wgmma: warpgroups with 64 rows of a tile each, 0: there is no such instruction;
  /// keys of a tile, a multiple of 128; half where there are biases or dropout, or a thread's sums
  /// are more than `tensorAttentionSums`, and half of that with both and more of them; tiles of
  /// keys, and as many of values, that may be on their way or in work, at most; registers as above.
  int64_t attentionWarpgroups = 0, warpgroupAttentionKeys = 128, warpgroupAttentionSums = 104,
          attentionStages = 4;
  int64_t attentionProducerRegisters = 0, attentionConsumerRegisters = 0;
  /// With heads of at most so many numbers warpgroups take turns to multiply.
  int64_t attentionTurnsHeadDim = 128;
};

/// Null: no such architecture.
const GpuTarget *findGpuTarget(llvm::StringRef arch);
/// The one that the module's code is for; null: it is for none.
const GpuTarget *gpuTargetOf(ModuleOp module);

} // namespace mlir::transformer

#endif // CODEGEN_GPU_TARGET_H
