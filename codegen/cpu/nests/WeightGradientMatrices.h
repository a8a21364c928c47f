//===- WeightGradientMatrices.h - over tokens in matrix registers -*- C++ -*-===//
#ifndef CODEGEN_CPU_NESTS_WEIGHTGRADIENTMATRICES_H
#define CODEGEN_CPU_NESTS_WEIGHTGRADIENTMATRICES_H

#include "codegen/cpu/nests/Emit.h"

namespace mlir::transformer {

/// Columns of a strip of x `[T, M]`, in parts (linear/Parts.h), as rows of words of two tokens, a
/// register's n behind the other: `into[place, (u - begin) / n, part, i, u % n]` are tokens 2 u and
/// 2 u + 1 of its column i, of which `there` are inside of x, for `begin <= u < end`, whole
/// registers; zeros behind the last token.
struct MatrixStrip {
  Value x, strip;
  int64_t there;
  Value begin, end;
  Value into, place;
  Value squares; // scratch, as of matrixSquares: what is transposed is in order first
};
/// `[parts, n, n]` words on the task's stack.
Value matrixSquares(Emit &b, int64_t parts);
void packMatrixStrip(Emit &b, const MatrixStrip &strip);

/// Of `transformer_cpu.weight_gradient` with matrices: a tile of c, and the words that it sums.
struct MatrixTile {
  Value strips, strip, panels, panel;
  Value firstOfStrip; // where `begin` is in the strip
  Value begin, end;   // whole registers
  Value sums, place;  // the tile's in [.., MR, NR]
};

/// Adds the products to the sums, which begin as zeros where `begin` is 0. In each turn of its loop
/// over registers, of which there is one even where there are no words, `beside` is called: with
/// how many turns were before and how many there are, and with what it carries. Returns that.
Values addMatrixProducts(Emit &b, const MatrixTile &tile, ValueRange carried,
                         function_ref<Values(Value turn, Value turns, ValueRange)> beside);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_NESTS_WEIGHTGRADIENTMATRICES_H
