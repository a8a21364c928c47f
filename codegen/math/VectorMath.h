//===- VectorMath.h - elementary functions in vector arithmetic -----------===//
#ifndef CODEGEN_MATH_VECTORMATH_H
#define CODEGEN_MATH_VECTORMATH_H

#include "dialect/TransformerDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::transformer {

// Values are f32 or vectors of it. Every operation rounds once and nothing is
// reassociated, so a scalar and a lane of a vector give the same bits, as long
// as LLVM's fast-math flags and FP contraction of plain mul + add stay off.

Value floatConstant(ImplicitLocOpBuilder &b, Type type, double value);
/// An i32 constant, as a vector where `like` is one.
Value integerConstant(ImplicitLocOpBuilder &b, Type like, int32_t value);
/// a * b + c, fused where the target fuses.
Value emitFma(ImplicitLocOpBuilder &b, Value x, Value y, Value z);
/// One instruction each; a NaN in the second operand comes through.
Value emitMax(ImplicitLocOpBuilder &b, Value x, Value y);
Value emitMin(ImplicitLocOpBuilder &b, Value x, Value y);

/// The functions below take a group of values of one type and work on all of
/// them step by step: several independent chains hide the latency of each.
/// Bounds are measured (test/codegen/nests/check_vector_math.py) against exact
/// values, in units of the result's last place.
using Group = SmallVector<Value>;

/// 2^x and e^x for every x: overflow to infinity, gradual underflow, NaN stays.
/// At most 1.1 ulp (denormal results: of the smallest denormal).
Group emitExp2(ImplicitLocOpBuilder &b, ValueRange x);
Group emitExp(ImplicitLocOpBuilder &b, ValueRange x);
/// 2^x for x <= 0, exactly 1 at 0 and exactly 0 from -127 on, in fewer
/// instructions: at most 1.1 ulp down to -126, an absolute error below 1e-38
/// beyond. What a softmax needs.
Group emitExp2NonPositive(ImplicitLocOpBuilder &b, ValueRange x);
/// 2^x for x from -126 to 126: at most 1.1 ulp; NaN stays.
Group emitExp2Normal(ImplicitLocOpBuilder &b, ValueRange x);
/// At most 1.5 ulp, signed zeros and denormals included.
Group emitTanh(ImplicitLocOpBuilder &b, ValueRange x);
/// At most 2 ulp.
Group emitErf(ImplicitLocOpBuilder &b, ValueRange x);
/// x Phi(x) with erf. x >= 0: at most 1.6 ulp; x >= -1: 3 ulp; below, an absolute
/// error of at most 4e-8 that shrinks with the result. It ends at -2.6e-10 (at
/// -6.5) instead of nearly nothing.
Group emitGeluErf(ImplicitLocOpBuilder &b, ValueRange x);
/// x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2. x >= -1: at most 2.5 ulp;
/// below, an absolute error of at most 4e-8 that shrinks with the result.
Group emitGeluTanh(ImplicitLocOpBuilder &b, ValueRange x);
/// x / (1 + e^-x), at most 2 ulp.
Group emitSilu(ImplicitLocOpBuilder &b, ValueRange x);
/// x / (1 + e^(-1.702 x)). x >= -1: at most 2 ulp; below, an absolute error of
/// at most 4e-8 that shrinks with the result.
Group emitQuickGelu(ImplicitLocOpBuilder &b, ValueRange x);
Group emitRelu(ImplicitLocOpBuilder &b, ValueRange x);

/// The one of them that an activation is.
using ActivationEmitter = Group (*)(ImplicitLocOpBuilder &, ValueRange);
ActivationEmitter activationEmitter(ActivationKind kind);

/// dy f'(x) of an activation f, from x and dy; relu's derivative is 0 at 0.
ActivationEmitter activationGradientEmitter(ActivationKind kind);

/// Rewrites math.exp, math.exp2, math.tanh, math.erf, activations and their gradients on f32
/// scalars and vectors of f32 under `root` to the functions above.
LogicalResult expandVectorMath(Operation *root);

} // namespace mlir::transformer

#endif // CODEGEN_MATH_VECTORMATH_H
