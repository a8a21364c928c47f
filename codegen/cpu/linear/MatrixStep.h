//===- MatrixStep.h - products of a tile in matrix registers ----*- C++ -*-===//
//
// A tile is two registers of rows by two of columns: of the eight that there are four hold its
// sums, two x and two the panel, so each that is loaded is multiplied twice.
//
//===----------------------------------------------------------------------===//
#ifndef CODEGEN_CPU_LINEAR_MATRIXSTEP_H
#define CODEGEN_CPU_LINEAR_MATRIXSTEP_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::transformer {

/// Where a register's words begin: of which part, and in which half of the rows or columns; of this
/// step or of the one behind it.
using MatrixPlace = llvm::function_ref<SmallVector<Value>(int64_t part, int64_t half, bool isNext)>;

/// Emits share `done` of `all` of what is done beside the products, behind that one.
using BesideProduct = llvm::function_ref<void(int64_t done, int64_t all)>;

/// The register of the sums of half `i` of the rows and half `j` of the columns.
inline int64_t registerOfSums(int64_t i, int64_t j) { return 2 * i + j; }
inline void forSums(llvm::function_ref<void(int64_t sum, int64_t i, int64_t j)> body) {
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t j = 0; j < 2; ++j)
      body(registerOfSums(i, j), i, j);
}

/// Adds to the sums of `halves` of the rows, in registers, what a register's words of x and of the
/// panel multiply to. A part is loaded where the product before had another. Beside each product of
/// parts some lines of the next step come from the second-level cache: a load that waits for its
/// own holds up the products behind it.
void emitMatrixStep(ImplicitLocOpBuilder &b, int64_t parts, int64_t halves, Value x,
                    MatrixPlace ofX, Value panel, MatrixPlace ofPanel, BesideProduct beside = {});

} // namespace mlir::transformer

#endif // CODEGEN_CPU_LINEAR_MATRIXSTEP_H
