//===- Doubles.h - functions in double precision ----------------*- C++ -*-===//
//
// Without a device library. Few numbers need them: tables, losses, the coefficients of a step.
//
//===----------------------------------------------------------------------===//
#ifndef CODEGEN_GPU_NESTS_DOUBLES_H
#define CODEGEN_GPU_NESTS_DOUBLES_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::transformer::simt {

/// Sine and cosine of an angle of at most 1e6, to 1e-15.
std::pair<Value, Value> emitSineAndCosine(ImplicitLocOpBuilder &b, Value angle);
/// e^x to 1e-15 of it: 0 below -745, infinity from 709.8 on, NaN of a NaN.
Value emitExponential(ImplicitLocOpBuilder &b, Value x);
/// The natural logarithm of a positive number, to 1e-15; minus infinity of 0, NaN of what is
/// negative or NaN.
Value emitLogarithm(ImplicitLocOpBuilder &b, Value x);

/// Rewrites math.exp, math.log and math.powf (of a base that is not negative) on f64, and math.log
/// on f32, under `root` to arithmetic.
void expandDoubleMath(Operation *root);

} // namespace mlir::transformer::simt

#endif // CODEGEN_GPU_NESTS_DOUBLES_H
