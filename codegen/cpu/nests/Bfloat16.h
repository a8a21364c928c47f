//===- Bfloat16.h - words of two bfloat16 ---------------------------------===//
//
// For targets with instructions on such words.
//
//===----------------------------------------------------------------------===//
#ifndef CODEGEN_CPU_NESTS_BFLOAT16_H
#define CODEGEN_CPU_NESTS_BFLOAT16_H

#include "codegen/cpu/nests/Emit.h"

namespace mlir::transformer {

/// What `transformer_cpu.dot_bfloat16` is, of one register.
Value emitDotBfloat16(ImplicitLocOpBuilder &b, Value w, Value x, Value sum);

/// Neighbouring elements of a vector of f32, rounded, as the halves of words: half as many.
Value emitNeighbourPairs(Emit &b, Value x);
/// Two vectors, rounded, as the lower and the upper halves of words.
Value emitPairs(Emit &b, Value lower, Value upper);
/// Pairs of one vector after the other; of an odd number the last with zeros.
Values emitPairs(Emit &b, ValueRange vectors);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_NESTS_BFLOAT16_H
