//===- AttentionMmaTile.h - attention's tile on tensor cores ----*- C++ -*-===//
#ifndef CODEGEN_GPU_NESTS_ATTENTIONMMATILE_H
#define CODEGEN_GPU_NESTS_ATTENTIONMMATILE_H

#include "codegen/gpu/nests/AttentionTile.h"
#include "codegen/gpu/nests/TensorCores.h"

namespace mlir::transformer::simt {

/// Scores of `rows()` queries with `keys` keys of `headDim` numbers. A warp has some rows, and all
/// keys of each: what its products leave in registers is what its next ones take.
struct MmaTileShape {
  int64_t warps, rowsOfWarp, keys, headDim;

  int64_t threads() const { return warps * warpSize; }
  int64_t rows() const { return warps * rowsOfWarp; }
  /// Of a thread: a row of the upper and one of the lower half of each 16.
  int64_t rowsOfThread() const { return rowsOfWarp / matrix; }
  /// With zeros behind a head's numbers.
  int64_t depth() const { return llvm::alignTo(headDim, mmaDepth); }
  /// Of vectors in shared memory: eight neighbours begin in different banks.
  int64_t stride() const { return depth() + matrix; }
  int64_t bytes() const { return 2 * stride() * (rows() + 2 * keys); }
  /// Numbers of a thread: a weighted sum of values, a row of scores.
  int64_t numSums() const { return rowsOfWarp * depth() / warpSize; }
  int64_t numScores() const { return rowsOfWarp * keys / warpSize; }
};

/// The largest tile that a block can have; nothing where there is none.
std::optional<MmaTileShape> chooseMmaTile(const GpuTarget &target, int64_t headDim,
                                          bool hasOptions);

/// What a thread does with its tile.
class AttentionMmaTile {
public:
  AttentionMmaTile(Loops &b, MmaTileShape shape, Value thread);

  /// Of the block: the thread's i-th row. Its columns are `column()`, the next one, and those that
  /// are a multiple of eight further.
  Value row(int64_t i) const;
  Value column() const;
  /// Which of the thread's rows a number is of, of `columns` columns, and how far behind
  /// `column()`.
  static std::pair<int64_t, int64_t> placeOf(int64_t number, int64_t columns);

  /// Shared memory for vectors of bf16, with zeros behind their numbers.
  Value vectors(int64_t count) const;
  /// Begins to copy `count` vectors, as wide as they lie in `buffer`; what happens often may have
  /// places in registers.
  void copy(Value to, int64_t count, Value buffer, bool often,
            function_ref<Vector(Value i)> from) const;

  /// The warp's queries as registers, where those are few, else nothing.
  Values loadQueries(Value queries) const;
  /// Products of the warp's queries with all keys.
  Values products(Value queries, ValueRange loaded, Value keys) const;
  /// `sums` and the values of all keys, by weights that lie as products do.
  Values addWeighted(ValueRange sums, ValueRange weights, Value values) const;

  /// Over a row's columns, of what its threads have.
  Value overRow(Value value, function_ref<Value(Value, Value)> combine) const;
  /// The thread's numbers of its i-th row's `sums`, times `factor`, to the device's memory.
  void store(ValueRange sums, int64_t i, Value factor, const Vector &vector) const;

  Loops &b;
  MmaTileShape shape;

private:
  Values loadRows(Value queries, int64_t row, int64_t depth) const;

  Value thread, lane, firstRow, pair;
};

} // namespace mlir::transformer::simt

#endif // CODEGEN_GPU_NESTS_ATTENTIONMMATILE_H
