//===- AttentionTile.h - a block's tile of rows and columns -----*- C++ -*-===//
#ifndef CODEGEN_GPU_NESTS_ATTENTIONTILE_H
#define CODEGEN_GPU_NESTS_ATTENTIONTILE_H

#include "codegen/gpu/Target.h"
#include "codegen/gpu/nests/AttentionScores.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::transformer::simt {

/// A tile of products of `rows()` vectors of `headDim` numbers with `columns` others, and who has
/// which of them. Eight lanes have a row; each has every eighth column, as dropout's factors are
/// drawn, and of a vector every eighth four numbers.
struct TileShape {
  static constexpr int64_t lanes = 8, rowsAtOnce = 4; // of a warp

  int64_t warps, rowsOfThread, columns, headDim;

  int64_t threads() const { return warps * lanes * rowsAtOnce; }
  int64_t rowsOfWarp() const { return rowsAtOnce * rowsOfThread; }
  int64_t rows() const { return warps * rowsOfWarp(); }
  int64_t columnsOfThread() const { return columns / lanes; }
  int64_t foursOfThread() const { return llvm::divideCeil(headDim, 4 * lanes); }
  int64_t numbersOfThread() const { return 4 * foursOfThread(); } // of a vector
  /// Of vectors in shared memory: zeros behind, and rows that begin in different banks, 16 bytes
  /// on.
  int64_t stride() const { return numbersOfThread() * lanes + 4; }
  int64_t strideOfHalves() const { return numbersOfThread() * lanes + 8; }
  int64_t vectorBytes(int64_t count) const { return 4 * count * stride(); }
  int64_t weightBytes() const { return 4 * rows() * (columns + 4); }
};

/// A vector in the device's memory: a row's numbers from a column on.
struct Vector {
  Place row;
  Value column;
};

/// What a thread does with its tile.
class AttentionTile {
public:
  AttentionTile(Loops &b, TileShape shape, Value thread);

  /// Of the thread: its i-th row, its i-th column.
  Value row(int64_t i) const;
  Value column(int64_t i) const;

  /// Shared memory for vectors, of `type`, with zeros behind their numbers, and
  /// for a weight of each place.
  Value vectors(int64_t count, FloatType type) const;
  Value vectors(int64_t count) const { return vectors(count, b.getF32Type()); }
  Value weights() const;
  /// Begins to copy `count` vectors to those from `first` on.
  void copy(Value to, Value first, int64_t count, function_ref<Vector(Value i)> from) const;

  /// Products of the thread's rows of `left` with its columns, vectors of `right` from `first` on.
  Values products(Value left, Value right, Value first) const;
  /// For the thread's rows and numbers: `sums` and the weighted vectors of `right`.
  Values addWeighted(ValueRange sums, Value weights, Value right, Value first) const;
  /// Of the thread's i-th row and j-th column.
  void putWeight(Value value, Value weights, int64_t i, int64_t j) const;

  /// Over a row's columns; `values` has the thread's.
  Value overRow(ArrayRef<Value> values, function_ref<Value(Value, Value)> combine) const;

  /// For each four numbers of a vector that are the thread's: the first's number among the
  /// thread's, and its column.
  void forFours(function_ref<void(int64_t first, Value column)> body) const;
  /// The thread's numbers of a vector in the device's memory: the n-th becomes `next` of it.
  void update(const Vector &vector, function_ref<Value(Value old, int64_t n)> next) const;
  void store(ArrayRef<Value> values, const Vector &vector) const;

  Loops &b;
  TileShape shape;

private:
  void put(const Vector &vector, bool reads, function_ref<Value(Value, int64_t)> next) const;

  Value thread, lane, firstRow;
};

/// Whether vectors of `headDim` numbers are whole fours at multiples of 16 bytes.
bool hasFours(Value buffer, int64_t headDim);

/// Where a tile of a sequence's rows is: sequences have tiles of their own, whose number a sum of
/// lengths bounds.
struct SequenceTile {
  Value sequence;
  Value first;            // row of the sequence that is the tile's first
  Value firstRow, tokens; // the sequence's
};

/// Tiles of `rows` rows for all tokens of `cu`, `group` rows each; at most.
Value countTiles(Loops &b, Value tokens, Value cu, int64_t group, int64_t rows);
/// The `number`-th of them; its first row may be behind the sequence's last. Each thread looks for
/// it alone, or the threads of a warp together, which takes them a register or two more.
SequenceTile findTile(Loops &b, Value number, Value cu, int64_t group, int64_t rows);
SequenceTile findTileByWarp(Loops &b, Value number, Value thread, Value cu, int64_t group,
                            int64_t rows);

/// A row of a tile of queries: a query and one of the heads that share its keys.
struct QueryRow {
  Value query, head, place; // place: among the keys
  Value from, end;          // the keys that it sees
  Value isThere;
};

/// The `number`-th row of a sequence, one of `keys` keys; behind the last row it is that again.
QueryRow queryRow(const AttentionScores &scores, const SequenceTile &sequence, Value keys,
                  Value kvHead, Value number);

} // namespace mlir::transformer::simt

#endif // CODEGEN_GPU_NESTS_ATTENTIONTILE_H
