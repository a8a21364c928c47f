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
/// Likewise of two vectors, the lower and the upper halves.
Values emitPairs(Emit &b, Value lower, Value upper, int64_t parts);

/// Square `which` of `squares` `[.., n, n]` of words, transposed. From memory, in a loop around it:
/// LLVM takes long to combine such shuffles with the rounding of what they move.
Values loadTransposed(Emit &b, Value squares, Value which);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_NESTS_BFLOAT16_H
