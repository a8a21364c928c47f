//===- ColumnSums.h - sums over the tokens --------------------------------===//
#ifndef CODEGEN_CPU_NESTS_COLUMNSUMS_H
#define CODEGEN_CPU_NESTS_COLUMNSUMS_H

#include "codegen/cpu/nests/Emit.h"

namespace mlir::transformer {

/// Vectors of columns that a task owns: whole cache lines, and accumulators that hide an addition.
constexpr int64_t columnVectors = 4;

/// Calls `emit` in a parallel loop over blocks of columns, with the first column, how many vectors
/// of them there are and how many lanes of the last one are inside the row. It is called twice
/// where the last block is smaller.
void forEachColumns(Emit &b, const Work &work, Value amount, int64_t width,
                    function_ref<void(Value column, int64_t vectors, int64_t last)> emit);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_NESTS_COLUMNSUMS_H
