//===- Bfloat16.h - words of two bfloat16 ---------------------------------===//
//
// For targets with instructions on such words.
//
//===----------------------------------------------------------------------===//
#ifndef CODEGEN_CPU_NESTS_BFLOAT16_H
#define CODEGEN_CPU_NESTS_BFLOAT16_H

#include "codegen/cpu/linear/Parts.h"
#include "codegen/cpu/nests/Emit.h"

namespace mlir::transformer {

/// What `transformer_cpu.dot_bfloat16` is, of one register.
Value emitDotBfloat16(ImplicitLocOpBuilder &b, Value w, Value x, Value sum);

/// Neighbouring elements of a vector of f32 as the halves of words, half as many: rounded, or in
/// three parts (linear/Parts.h).
Values emitNeighbourPairs(Emit &b, Value x, int64_t parts);
/// Likewise of two vectors, the lower and the upper halves. Of words, whose numbers are rounded
/// already, twice as many words, of a number of each.
Values emitPairs(Emit &b, Value lower, Value upper, int64_t parts);

/// Whether a buffer of rows holds words rather than numbers.
bool areWords(Value rows);

/// Columns `first`, an even one, and those behind it of a row: x, of which `count` columns are
/// there. To a buffer of words rounded; half a word behind the last column is 0.
void storeColumns(Emit &b, Value x, Value to, Value row, Value first, int64_t count);
/// Their words, half as many as `columns`; zeros behind the `count` that are there.
Value loadWords(Emit &b, Value words, Value row, Value first, int64_t columns, int64_t count);
/// The numbers in words, as f32.
Value emitNumbers(Emit &b, Value words);

/// Square `which` of `squares` `[.., n, n]` of words, transposed. From memory, in a loop around it:
/// LLVM takes long to combine such shuffles with the rounding of what they move.
Values loadTransposed(Emit &b, Value squares, Value which);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_NESTS_BFLOAT16_H
