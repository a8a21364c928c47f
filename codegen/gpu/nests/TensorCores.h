//===- TensorCores.h - products of 16 bits by a warp ------------*- C++ -*-===//
#ifndef CODEGEN_GPU_NESTS_TENSORCORES_H
#define CODEGEN_GPU_NESTS_TENSORCORES_H

#include "codegen/gpu/nests/Loops.h"

namespace mlir::transformer::simt {

inline constexpr int64_t warpSize = 32;

/// Of an mma.sync; 8 by 8 is what `ldmatrix` loads, four at once.
inline constexpr int64_t mmaRows = 16, mmaColumns = 8, mmaDepth = 16, tf32Depth = 8, matrix = 8;
/// Of a thread: two neighbours of row lane / 4 from column lane % 4 * 2 on, and those 8 rows
/// further down.
inline constexpr int64_t sumsOfMma = 4;

/// Four matrices of bf16 or f16 in shared memory as registers. Lane 8 i + j tells where the j-th
/// line of the i-th one is.
Values loadMatrices(Loops &b, Value memory, ValueRange place, bool transpose);
/// Adds the product of 16 rows `x`, four registers, and 8 columns `y`, two, of numbers of `type`:
/// bf16, f16, or half as many of TF32, in a register each.
void multiply(Loops &b, FloatType type, ValueRange x, ValueRange y, MutableArrayRef<Value> sums);
/// Two f32 as bf16 or f16, to nearest, ties to even; in a register.
Values toHalves(Loops &b, FloatType type, Value low, Value high);
Value packHalves(Loops &b, FloatType type, Value low, Value high);

} // namespace mlir::transformer::simt

#endif // CODEGEN_GPU_NESTS_TENSORCORES_H
