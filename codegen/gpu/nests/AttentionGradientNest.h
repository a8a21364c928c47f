//===- AttentionGradientNest.h - backward of attention by blocks -*- C++ -*-===//
#ifndef CODEGEN_GPU_NESTS_ATTENTIONGRADIENTNEST_H
#define CODEGEN_GPU_NESTS_ATTENTIONGRADIENTNEST_H

#include "codegen/gpu/nests/AttentionBlocks.h"
#include "codegen/gpu/nests/Dropout.h"

namespace mlir::transformer::simt {

/// What backward by blocks is, whoever multiplies. A block has some rows, of queries for dq and of
/// keys for dk and dv, and goes through the other side tile by tile: it makes the probabilities
/// anew, then the gradients of the scores, which weight what is added up in registers. Nobody else
/// adds to its rows, so nothing is atomic, and a row's sum has the order of its sequence.
class AttentionGradientNest {
public:
  /// `byWarp`: the threads of a warp look for their sequence together.
  AttentionGradientNest(Loops &b, kernel::AttentionGradientOp op, const GradientBuffers &buffers,
                        bool byWarp)
      : b(b), op(op), buffers(buffers), scores(b, op, op.getScaleFactor()), byWarp(byWarp) {}

  void emitDeltas();

protected:
  /// A sequence's queries and keys; the side that the block has rows of is a tile.
  struct Work {
    SequenceTile queries, keys;
    Value kvHead;
  };
  /// A block a tile of `rows` queries, or of as many keys, and a head of keys.
  void forTilesOfQueries(int64_t rows, int64_t threads,
                         function_ref<void(const Work &work, Value thread)> body);
  void forTilesOfKeys(int64_t rows, int64_t threads,
                      function_ref<void(const Work &work, Value thread)> body);

  /// The tiles `[first, second)` of `columns` keys that a block's rows of queries see, and of rows
  /// of queries that see a block's keys.
  std::pair<Value, Value> tilesOfKeys(const Work &work, int64_t rows, int64_t columns);
  std::pair<Value, Value> tilesOfQueries(const Work &work, int64_t rows, int64_t columns);
  /// The sequence's rows of queries that see a key of it.
  std::pair<Value, Value> queriesOf(const Work &work, Value key);

  QueryRow rowOf(const Work &work, Value number) {
    return queryRow(scores, work.queries, work.keys.tokens, work.kvHead, number);
  }
  /// Behind a sequence's last key it is that again.
  Value keyOf(const Work &work, Value number) {
    return b.add(work.keys.firstRow, b.min(number, b.sub(work.keys.tokens, b.index(1))));
  }

  /// Goes through tiles `[from, end)` of the other side: `copy` begins to copy one to a place of
  /// `slots`, `turn` has it there.
  Values through(int64_t slots, int64_t columns, Value from, Value end, ValueRange values,
                 function_ref<void(Value place, Value number)> copy,
                 function_ref<Values(Value place, Value number, ValueRange)> turn);

  DropoutFactors dropout(const QueryRow &row) {
    double rate = scores.options.getDropout().convertToDouble();
    return {b, op.getDropoutKey(), rate, b.add(row.head, 1)};
  }

  /// Whether what distances add is a number a head, times their length, or of a table.
  bool isSlope() const {
    return scores.bias && cast<MemRefType>(scores.bias.getType()).getRank() == 1;
  }
  bool isTable() const { return scores.bias && !isSlope(); }

  /// A table by distance, of which many places of a row add to one number, has a thread a row: it
  /// starts as zeros, and each tile of `columns` gradients from key `first` on adds to it.
  void clearTable(const Work &work, int64_t rows, Value thread);
  void addToTable(const Work &work, int64_t rows, Value thread, Value gradients, Value first,
                  int64_t columns);

  Loops &b;
  kernel::AttentionGradientOp op;
  const GradientBuffers &buffers;
  AttentionScores scores;

private:
  SequenceTile tileOf(Value number, Value thread, Value cu, int64_t group, int64_t rows);
  SequenceTile sequenceIn(Value cu, Value sequence);
  void withOwnRow(const Work &work, int64_t rows, Value thread,
                  function_ref<void(const QueryRow &)> body);

  bool byWarp;
};

} // namespace mlir::transformer::simt

#endif // CODEGEN_GPU_NESTS_ATTENTIONGRADIENTNEST_H
