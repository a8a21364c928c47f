//===- TileProducts.h - a register tile of sums of products -----*- C++ -*-===//
#ifndef CODEGEN_CPU_NESTS_TILEPRODUCTS_H
#define CODEGEN_CPU_NESTS_TILEPRODUCTS_H

#include "codegen/cpu/nests/Emit.h"

namespace mlir::transformer {

/// sums[i][j] += factor(u, i) vector(u, j) for u in begin .. end - 1, begin <= end, in this order;
/// i counts the rows of the target's register tile, j the vectors of one.
Values addProducts(Emit &b, Value begin, Value end, Values sums,
                   function_ref<Value(Value u, int64_t i)> factor,
                   function_ref<Value(Value u, int64_t j)> vector);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_NESTS_TILEPRODUCTS_H
