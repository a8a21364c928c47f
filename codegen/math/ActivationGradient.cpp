//===- ActivationGradient.cpp - derivatives of activations ----------------===//
#include "codegen/math/VectorMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/ErrorHandling.h"
#include <numbers>

using namespace mlir;
using namespace mlir::transformer;
using std::numbers::log2e;

namespace {

/// Arithmetic on values of one type.
struct Terms {
  ImplicitLocOpBuilder &b;
  Type type;

  Value constant(double value) { return floatConstant(b, type, value); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value mul(Value x, double y) { return mul(x, constant(y)); }
  Value fma(Value x, Value y, Value z) { return emitFma(b, x, y, z); }
  /// x, or the limit that it lies beyond; NaN stays.
  Value clamp(Value x, double limit) {
    return emitMin(b, constant(limit), emitMax(b, constant(-limit), x));
  }
  /// s = 1 / (1 + 2^x) and 1 - s, which is 2^x s: without cancellation. x lies between -126 and
  /// 126.
  std::pair<Value, Value> shares(Value x) {
    Value power = emitExp2Normal(b, x)[0];
    Value s = arith::DivFOp::create(b, constant(1), add(constant(1), power));
    return {s, mul(power, s)};
  }
};

using Derivative = Value (*)(Terms &t, Value x);

Value ofRelu(Terms &t, Value x) {
  Value zero = t.constant(0);
  Value positive = arith::CmpFOp::create(t.b, arith::CmpFPredicate::OGT, x, zero);
  return arith::SelectOp::create(t.b, positive, t.constant(1), zero);
}

/// Phi(x) + x phi(x).
Value ofGelu(Terms &t, Value x) {
  constexpr double rootHalf = 0.7071067811865476, density = 0.3989422804014327;
  Value phi = t.mul(t.add(t.constant(1), emitErf(t.b, t.mul(x, rootHalf))[0]), 0.5);
  Value e = emitExp(t.b, t.mul(t.mul(x, x), -0.5))[0];
  return t.fma(x, t.mul(e, density), phi);
}

/// s (1 + 2 x u' (1 - s)), s = (1 + tanh u) / 2 = 1 / (1 + e^(-2 u)). Beyond 10 nothing changes.
Value ofGeluTanh(Terms &t, Value x) {
  constexpr double factor = 2 * 0.7978845608028654, cubic = 0.044715;
  Value y = t.clamp(x, 10), square = t.mul(y, y);
  Value power = t.fma(square, t.constant(-factor * cubic * log2e), t.constant(-factor * log2e));
  auto [s, rest] = t.shares(t.mul(power, y));
  Value slope = t.fma(square, t.constant(3 * factor * cubic), t.constant(factor));
  return t.mul(s, t.fma(t.mul(y, slope), rest, t.constant(1)));
}

/// s (1 + a x (1 - s)), s = 1 / (1 + e^(-a x)). Beyond 87 nothing changes.
Value ofSigmoidTimes(Terms &t, Value x, double a) {
  Value y = t.clamp(a == 1 ? x : t.mul(x, a), 87);
  auto [s, rest] = t.shares(t.mul(y, -log2e));
  return t.mul(s, t.fma(y, rest, t.constant(1)));
}
Value ofSilu(Terms &t, Value x) { return ofSigmoidTimes(t, x, 1); }
Value ofQuickGelu(Terms &t, Value x) { return ofSigmoidTimes(t, x, 1.702); }

Value ofTanh(Terms &t, Value x) {
  Value tanh = emitTanh(t.b, x)[0];
  return t.sub(t.constant(1), t.mul(tanh, tanh));
}

/// Of the operands x and dy.
template <Derivative derivative> Group emitGradient(ImplicitLocOpBuilder &b, ValueRange operands) {
  Terms terms{b, operands[0].getType()};
  return {terms.mul(operands[1], derivative(terms, operands[0]))};
}

} // namespace

ActivationEmitter transformer::activationGradientEmitter(ActivationKind kind) {
  switch (kind) {
  case ActivationKind::Relu:
    return emitGradient<ofRelu>;
  case ActivationKind::Gelu:
    return emitGradient<ofGelu>;
  case ActivationKind::GeluTanh:
    return emitGradient<ofGeluTanh>;
  case ActivationKind::Silu:
    return emitGradient<ofSilu>;
  case ActivationKind::QuickGelu:
    return emitGradient<ofQuickGelu>;
  case ActivationKind::Tanh:
    return emitGradient<ofTanh>;
  }
  llvm_unreachable("an activation without a derivative");
}
