//===- AttentionMmaTile.h - attention's tile on tensor cores ----*- C++ -*-===//
#ifndef CODEGEN_GPU_NESTS_ATTENTIONMMATILE_H
#define CODEGEN_GPU_NESTS_ATTENTIONMMATILE_H

#include "codegen/gpu/nests/AttentionTile.h"
#include "codegen/gpu/nests/TensorCores.h"

namespace mlir::transformer::simt {

/// Products of `rows()` vectors of `headDim` numbers with `columns` others. A warp has some rows,
/// and all columns of each: what its products leave in registers is what its next ones take.
struct MmaTileShape {
  int64_t warps, rowsOfWarp, columns, headDim;

  int64_t threads() const { return warps * warpSize; }
  int64_t rows() const { return warps * rowsOfWarp; }
  /// Of a thread: a row of the upper and one of the lower half of each 16.
  int64_t rowsOfThread() const { return rowsOfWarp / matrix; }
  /// With zeros behind a head's numbers.
  int64_t depth() const { return llvm::alignTo(headDim, mmaDepth); }
  /// Of vectors in shared memory: eight neighbours begin in different banks.
  int64_t stride() const { return depth() + matrix; }
  int64_t vectorBytes(int64_t count) const { return 2 * stride() * count; }
  /// Numbers of a thread: its rows' weighted sums of vectors, its products.
  int64_t numSums() const { return rowsOfWarp * depth() / warpSize; }
  int64_t numProducts() const { return rowsOfWarp * columns / warpSize; }
};

/// The largest tile of attention that a block can have; nothing where there is none.
std::optional<MmaTileShape> chooseMmaTile(const GpuTarget &target, int64_t headDim,
                                          bool hasOptions);

constexpr double log2e = 1.4426950408889634;
/// 2^x to 2^-22; exact where x is whole.
Value exp2(Loops &b, Value x);

/// The columns `[from, end)` that a row sees.
struct ColumnRange {
  Value from, end;
};

/// What a thread does with its tile.
class AttentionMmaTile {
public:
  AttentionMmaTile(Loops &b, MmaTileShape shape, FloatType type, Value thread);

  /// Of the block: the thread's i-th row. Its columns are `column()`, the next one, and those that
  /// are a multiple of eight further.
  Value row(int64_t i) const;
  Value column() const;
  /// Which of the thread's rows a number is of, of `columns` columns, and how far behind
  /// `column()`.
  static std::pair<int64_t, int64_t> placeOf(int64_t number, int64_t columns);

  /// Shared memory for vectors, with zeros behind their numbers.
  Value vectors(int64_t count) const;
  /// Begins to copy `count` vectors to those from `first` on, as wide as they lie in `buffer`; what
  /// happens often may have places in registers.
  void copy(Value to, Value first, int64_t count, Value buffer, bool often,
            function_ref<Vector(Value i)> from) const;
  /// Likewise, the `number`-th tile's columns of `count`; behind the last one it is that again.
  void copyColumns(Value to, Value first, Value number, Value count, Value buffer,
                   function_ref<Vector(Value i)> from) const;

  /// The warp's rows as registers, where those are few, else nothing.
  Values loadRows(Value rows) const;
  /// Products of the warp's rows with all columns, vectors of `right` from `first` on.
  Values products(Value rows, ValueRange loaded, Value right, Value first) const;
  /// `sums` and the vectors of all columns, by weights that lie as products do.
  Values addWeighted(ValueRange sums, ValueRange weights, Value right, Value first) const;
  /// Of products of the columns from `column` on, `none` where one is not in its row's range;
  /// without `begins` nothing is before a range. Tiles without an edge compute no masks.
  void mask(Values &products, ArrayRef<ColumnRange> ranges, bool begins, Value column,
            Value none) const;

  /// Over a row's columns, of what its threads have.
  Value overRow(Value value, function_ref<Value(Value, Value)> combine) const;
  /// The thread's numbers of its i-th row's `sums`, times `factor`, to the device's memory.
  void store(ValueRange sums, int64_t i, Value factor, const Vector &vector) const;

  Loops &b;
  MmaTileShape shape;
  FloatType type; // bf16 or f16: of what is multiplied

private:
  Values loadRows(Value rows, int64_t row, int64_t depth) const;

  Value thread, lane, firstRow, pair;
};

} // namespace mlir::transformer::simt

#endif // CODEGEN_GPU_NESTS_ATTENTIONMMATILE_H
