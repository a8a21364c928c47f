//===- ColumnSums.h - sums over the tokens --------------------------------===//
#ifndef CODEGEN_CPU_NESTS_COLUMNSUMS_H
#define CODEGEN_CPU_NESTS_COLUMNSUMS_H

#include "codegen/cpu/nests/Emit.h"

namespace mlir::transformer {

/// Vectors of columns that a task owns: whole cache lines, and accumulators that hide an addition.
constexpr int64_t columnVectors = 4;

/// The columns of a task, as vectors.
struct ColumnBlock {
  Emit &b;
  Value first;
  int64_t vectors, last; // how many vectors, and lanes of the last one that are inside the row

  Value column(int64_t i) const { return b.add(first, i * b.lanes()); }
  int64_t lanes(int64_t i) const { return i + 1 == vectors ? last : b.lanes(); }
};

/// Calls `emit` in a parallel loop over blocks of columns; twice where the last block is smaller.
void forEachColumns(Emit &b, const Work &work, Value amount, int64_t width,
                    function_ref<void(const ColumnBlock &block)> emit);

/// The sum of the elements of a vector of f32, or of a matrix' first column, in their order, in
/// f64; of some of them, those from `from` to `to` - 1.
Value sumElements(Emit &b, Value buffer);
Value sumElements(Emit &b, Value buffer, Value from, Value to);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_NESTS_COLUMNSUMS_H
