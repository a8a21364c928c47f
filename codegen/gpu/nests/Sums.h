//===- Sums.h - sums that many threads share --------------------*- C++ -*-===//
//
// Of f64, in an order that the number of terms fixes: a thread adds terms far apart, so that
// neighbours read neighbours, and fewer and fewer threads add what those before them have.
//
//===----------------------------------------------------------------------===//
#ifndef CODEGEN_GPU_NESTS_SUMS_H
#define CODEGEN_GPU_NESTS_SUMS_H

#include "codegen/gpu/nests/Loops.h"

namespace mlir::transformer::simt {

/// Emits kernels that add `term`, f64, below `count`, and pass the sum to `put`, in the last of
/// them, by one thread. `most` says how many terms there may be, where that is known.
void sumOfAll(Loops &b, Value count, function_ref<Value(Value i)> term, int64_t most,
              function_ref<void(Value sum)> put);
/// The sum is in the buffer of one number that is returned.
Value sumOfAll(Loops &b, Value count, function_ref<Value(Value i)> term, int64_t most = 0);

/// Emits kernels that add `terms`, `count` f64 numbers for each of `rows` rows and `width` columns,
/// over the rows, and pass the sums of each column to `put`.
void sumOverRows(Loops &b, Value rows, int64_t width, int64_t count,
                 function_ref<Values(Value row, Value column)> terms,
                 function_ref<void(ValueRange sums, Value column)> put);

} // namespace mlir::transformer::simt

#endif // CODEGEN_GPU_NESTS_SUMS_H
