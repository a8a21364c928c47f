//===- AttentionNest.h - attention on rows of 16 bits -----------*- C++ -*-===//
#ifndef CODEGEN_GPU_NESTS_ATTENTIONNEST_H
#define CODEGEN_GPU_NESTS_ATTENTIONNEST_H

#include "codegen/gpu/nests/AttentionMmaTile.h"

namespace mlir::transformer::simt {

/// What attention by tensor cores is, whoever multiplies. A block has some rows, a row a query and
/// one of the heads that share its keys, and goes through the keys tile by tile, as in
/// AttentionBlocks.cpp. Scores are powers of 2 and are lessened by whole numbers: which tile a
/// row's highest score is in changes nothing that is rounded to bf16 or f16, so weights are those
/// of a softmax of the whole row (FlashAttention-2, Dao 2023).
class AttentionNest {
public:
  AttentionNest(Loops &b, kernel::AttentionOp op, const MmaTileShape &shape);

protected:
  /// The block's part of the work.
  struct Work {
    SequenceTile place;
    Value kvHead, firstKey, keys;
    SmallVector<QueryRow> rows; // of the thread, if it has any
  };

  /// A block of `threads` threads a tile of queries and a head of keys.
  void forTiles(int64_t threads, function_ref<void(const Work &work, Value thread)> body);

  QueryRow rowOf(const Work &work, Value number) {
    return queryRow(scores, work.place, work.keys, work.kvHead, b.add(work.place.first, number));
  }
  void findRows(const AttentionMmaTile &tile, Work &work);
  /// The tiles of keys `[first, second)` that any row of the block sees.
  std::pair<Value, Value> tilesOfKeys(const Work &work);

  /// What a thread has before the first tile: of each row the whole number that scores are lessened
  /// by and its part of the sum of weights, then the weighted values.
  Values none();
  MutableArrayRef<Value> weighted(Values &state) {
    return MutableArrayRef(state).drop_front(2 * shape.rowsOfThread());
  }

  /// Of the thread's products with a tile of keys, weights; a number for each row that the weighted
  /// values are to be multiplied by, before those of this tile are added.
  Values makeWeights(const AttentionMmaTile &tile, const Work &work, Value number, Values &weights,
                     Values &state);
  void shrink(MutableArrayRef<Value> weighted, ArrayRef<Value> factors);

  /// The thread's rows of the result.
  void store(const AttentionMmaTile &tile, const Work &work, Values &state);

  Loops &b;
  AttentionScores scores;
  Value q, k, v, cuQueries, cuKeys, result, dropoutKey, logSumExp; // the last two may be null
  MmaTileShape shape;

private:
  bool areProducts() const;
  void finishScores(const AttentionMmaTile &tile, const Work &work, Value number, Values &values);
  void addBias(const Work &work, Value first, Values &values);
  void drop(const AttentionMmaTile &tile, const Work &work, Value number, Values &weights);
};

} // namespace mlir::transformer::simt

#endif // CODEGEN_GPU_NESTS_ATTENTIONNEST_H
