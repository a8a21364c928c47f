//===- WeightGradientMatrices.h - over tokens in matrix registers -*- C++ -*-===//
#ifndef CODEGEN_CPU_NESTS_WEIGHTGRADIENTMATRICES_H
#define CODEGEN_CPU_NESTS_WEIGHTGRADIENTMATRICES_H

#include "codegen/cpu/nests/Emit.h"

namespace mlir::transformer {

/// Columns of a strip of x `[T, M]`, in parts (linear/Parts.h), as rows of words of two tokens:
/// `into[place, part, i, u - begin]` are tokens 2 u and 2 u + 1 of its column i, of which `there`
/// are inside of x, for `begin <= u < end`, whole registers; zeros behind the last token.
struct MatrixStrip {
  Value x, strip;
  int64_t there;
  Value begin, end;
  Value into, place;
};
void packMatrixStrip(Emit &b, const MatrixStrip &strip);

/// Of `transformer_cpu.weight_gradient` with matrices: a tile of c, and the words that it sums.
struct MatrixTile {
  Value strips, strip, panels, panel;
  Value firstOfStrip; // where `begin` is in the strip
  Value begin, end;   // whole registers
  Value sums;         // [.., .., MR, NR]
  Values place;       // of the tile's in `sums`
};

/// Adds the products to the sums, which begin as zeros where `begin` is 0.
void addMatrixProducts(Emit &b, const MatrixTile &tile);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_NESTS_WEIGHTGRADIENTMATRICES_H
