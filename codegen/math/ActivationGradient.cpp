//===- ActivationGradient.cpp - derivatives of activations ----------------===//
#include "codegen/math/VectorMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace mlir::transformer;

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
  Value oneMinus(Value x) { return sub(constant(1), x); }
  /// 1 / (1 + e^-x).
  Value sigmoid(Value x) {
    Value e = emitExp(b, arith::NegFOp::create(b, x).getResult())[0];
    return arith::DivFOp::create(b, constant(1), add(constant(1), e));
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

/// (1 + tanh u) / 2 + x (1 - tanh^2 u) u' / 2.
Value ofGeluTanh(Terms &t, Value x) {
  constexpr double factor = 0.7978845608028654, cubic = 0.044715;
  Value square = t.mul(x, x);
  Value u = t.mul(t.mul(x, factor), t.fma(square, t.constant(cubic), t.constant(1)));
  Value tanh = emitTanh(t.b, u)[0];
  Value slope = t.mul(t.fma(square, t.constant(3 * cubic), t.constant(1)), factor);
  Value curve = t.mul(t.sub(t.constant(1), t.mul(tanh, tanh)), slope);
  return t.mul(t.fma(x, curve, t.add(t.constant(1), tanh)), 0.5);
}

/// s (1 + a x (1 - s)), s = 1 / (1 + e^(-a x)).
Value ofSigmoidTimes(Terms &t, Value x, double a) {
  Value scaled = a == 1 ? x : t.mul(x, a), s = t.sigmoid(scaled);
  return t.mul(s, t.fma(scaled, t.oneMinus(s), t.constant(1)));
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
