//===- WinogradNest.h - what Winograd's inner product is given ------------===//
#ifndef CODEGEN_CPU_NESTS_WINOGRADNEST_H
#define CODEGEN_CPU_NESTS_WINOGRADNEST_H

#include "codegen/cpu/nests/Emit.h"

namespace mlir::transformer {

/// Scales panel `at` of `panels` `[P, 6 S, NR]`, whose rows 6 .. 5 + k hold weights over the scales
/// of features, by its columns' sizes, and writes the rows before and behind them
/// (codegen/cpu/linear/Winograd.h). `squares`: a vector of columns each, the sum of their squares.
void scaleWinogradPanel(Emit &b, Value panels, Value at, int64_t k, ValueRange squares);

/// Blocks of tokens of a product over them: at least one.
Value winogradBlocks(Emit &b, Value tokens);

/// Writes what a product over tokens of x and y scales each token of x by, to `scales` `[T]`.
void emitTokenScales(Emit &b, const Work &work, Value x, Value y, Value scales);

/// Makes parts `[P, R, NR]` of rows of x `[T, W]` for it, each by its scale or by the inverse.
void emitWinogradColumns(Emit &b, const Work &work, Value x, Value scales, bool inverse,
                         Value parts);

/// Powers of two, f32 or vectors of it.
struct Scale {
  Value factor, inverse;
};

/// factor = 2^-e and inverse = 2^e where `root` is in [2^e, 2^(e + 1)); |e| at most
/// 126, so that both are normal numbers.
Scale scaleOf(Emit &b, Value root);

/// 2^-e for 2^e, a normal number.
Value inverseOf(Emit &b, Value power);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_NESTS_WINOGRADNEST_H
