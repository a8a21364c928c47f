//===- Rows.h - sweeps over the columns of a row --------------------------===//
#ifndef CODEGEN_CPU_NESTS_ROWS_H
#define CODEGEN_CPU_NESTS_ROWS_H

#include "codegen/cpu/nests/Emit.h"

namespace mlir::transformer {

/// Vectors of a row that a sweep has in flight, and the accumulators of a sum:
/// enough to hide the latency of an addition.
constexpr int64_t sweepUnroll = 4;

/// Calls `body` for the vectors of a row of `width` columns, with the first
/// column, how many lanes are inside the row and, if `init` (empty, or
/// sweepUnroll values) is there, the accumulator to continue. Vector i belongs
/// to accumulator i % sweepUnroll, which fixes the order for a width.
Values sweepRow(Emit &b, int64_t width, ValueRange init,
                function_ref<Value(Value column, int64_t lanes, Value accumulator)> body);

/// A sum over the row of `term`, which must be 0 in lanes outside the row.
Value sumRow(Emit &b, int64_t width,
             function_ref<Value(Value column, int64_t lanes, Value accumulator)> accumulate);

/// Copies `width` columns from `source[from..., 0]` to `result[to..., 0]`.
void copyRow(Emit &b, int64_t width, Value source, ValueRange from, Value result, ValueRange to);
void zeroRow(Emit &b, int64_t width, Value result, ValueRange to);

/// Zeros for `width` columns of `result[row]`, from column `first` on.
void zeroColumns(Emit &b, int64_t width, Value result, Value row, Value first);

/// What a norm is given beside its rows; beta is null for an RMS norm.
struct NormInputs {
  Value gamma, beta;
  NormAttr norm;
};

/// One over what a row is divided by, as a vector; `variance` is its variance, or the mean of its
/// squares.
Value inverseDeviation(Emit &b, Value variance, NormAttr norm);

/// Keeps the vector of a row that begins at a column, of which `lanes` are inside the row.
using StoreVector = function_ref<void(Value x, Value column, int64_t lanes)>;

/// Normalises `source[row]`, which `store` may write to; `sum` is the sum of the row's elements.
void normalizeRow(Emit &b, int64_t width, Value sum, Value source, Value row,
                  const NormInputs &inputs, StoreVector store);

/// Divides `width` columns of `source[row]`, from column `first` on, by their root
/// mean square; `squares` is the sum of their squares.
void divideRow(Emit &b, int64_t width, Value squares, Value source, Value row, Value first,
               const NormInputs &inputs, StoreVector store);

/// `[lower, upper)` of the items of a task when `count` items are cut into
/// tasks of `size`.
std::pair<Value, Value> taskRange(Emit &b, Value task, int64_t size, Value count);

/// The columns from `first` on of a row of x, of which `count` are there, as a vector of any width;
/// zeros behind them.
Value loadColumns(Emit &b, VectorType type, Value x, Value row, Value first, int64_t count);

/// Calls `emit` for every group of weightGroup columns of every row of x, with how many columns of
/// it there are, in a loop over tasks that `work` describes.
void forEachGroup(Emit &b, const Work &work, Value x,
                  function_ref<void(Value row, Value group, int64_t count)> emit);

/// Static size of the last dimension of a buffer.
int64_t rowWidth(Value buffer);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_NESTS_ROWS_H
