//===- VectorMath.cpp - elementary functions in vector arithmetic ---------===//
//
// Reductions to a short interval and minimax polynomials (weighted least
// squares on Chebyshev nodes with Lawson's reweighting, in 40 digits). Comments
// give each polynomial's own error; rounding adds the rest.
//
//===----------------------------------------------------------------------===//
#include "codegen/math/VectorMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/STLExtras.h"
#include <numbers>

using namespace mlir;
using namespace mlir::transformer;
using std::numbers::log2e;

Value transformer::floatConstant(ImplicitLocOpBuilder &b, Type type, double value) {
  FloatAttr scalar = b.getF32FloatAttr(value);
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(b, DenseElementsAttr::get(vector, Attribute(scalar)));
  return arith::ConstantOp::create(b, scalar);
}

Value transformer::integerConstant(ImplicitLocOpBuilder &b, Type like, int32_t value) {
  IntegerAttr scalar = b.getI32IntegerAttr(value);
  if (auto vector = dyn_cast<VectorType>(like)) {
    VectorType integers = vector.clone(b.getI32Type());
    return arith::ConstantOp::create(b, DenseElementsAttr::get(integers, Attribute(scalar)));
  }
  return arith::ConstantOp::create(b, scalar);
}

Value transformer::emitFma(ImplicitLocOpBuilder &b, Value x, Value y, Value z) {
  if (isa<VectorType>(x.getType()))
    return vector::FMAOp::create(b, x, y, z);
  // The bodies of linalg ops hold scalars; expandVectorMath lowers these.
  return math::FmaOp::create(b, x, y, z);
}

Value transformer::emitMax(ImplicitLocOpBuilder &b, Value x, Value y) {
  Value greater = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x, y);
  return arith::SelectOp::create(b, greater, x, y);
}

Value transformer::emitMin(ImplicitLocOpBuilder &b, Value x, Value y) {
  Value less = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, y);
  return arith::SelectOp::create(b, less, x, y);
}

namespace {

// Added and subtracted, it rounds to an integer, whose low bits the sum holds.
constexpr double roundingMagic = 12582912.0; // 1.5 * 2^23
constexpr int32_t roundingMagicBits = 0x4b400000;

/// Arithmetic on a group of values of one type; constants are doubles that are
/// rounded to f32.
class Math {
public:
  Math(ImplicitLocOpBuilder &b, ValueRange x) : b(b), type(x.front().getType()) {
    integers = b.getI32Type();
    if (auto vector = dyn_cast<VectorType>(type))
      integers = vector.clone(integers);
  }

  Value constant(double v) { return floatConstant(b, type, v); }
  Value integer(int32_t v) { return integerConstant(b, type, v); }
  static Group map(ValueRange x, function_ref<Value(Value)> f) { return llvm::map_to_vector(x, f); }
  static Group map(ValueRange x, ValueRange y, function_ref<Value(Value, Value)> f) {
    Group result;
    for (auto [u, v] : llvm::zip_equal(x, y))
      result.push_back(f(u, v));
    return result;
  }

  Group add(ValueRange x, double c) {
    return map(x, [&](Value v) { return arith::AddFOp::create(b, v, constant(c)); });
  }
  Group mul(ValueRange x, double c) {
    return map(x, [&](Value v) { return arith::MulFOp::create(b, v, constant(c)); });
  }
  Group mul(ValueRange x, ValueRange y) {
    return map(x, y, [&](Value u, Value v) { return arith::MulFOp::create(b, u, v); });
  }
  Group sub(ValueRange x, ValueRange y) {
    return map(x, y, [&](Value u, Value v) { return arith::SubFOp::create(b, u, v); });
  }
  Group div(ValueRange x, ValueRange y) {
    return map(x, y, [&](Value u, Value v) { return arith::DivFOp::create(b, u, v); });
  }
  /// x * c + y.
  Group fma(ValueRange x, double c, ValueRange y) {
    return map(x, y, [&](Value u, Value v) { return emitFma(b, u, constant(c), v); });
  }
  /// x * c + d.
  Group fma(ValueRange x, double c, double d) {
    return map(x, [&](Value u) { return emitFma(b, u, constant(c), constant(d)); });
  }
  Group fma(ValueRange x, ValueRange y, ValueRange z) {
    Group result;
    for (auto [u, v, w] : llvm::zip_equal(x, y, z))
      result.push_back(emitFma(b, u, v, w));
    return result;
  }
  Group max(double c, ValueRange x) {
    return map(x, [&](Value v) { return emitMax(b, constant(c), v); });
  }
  Group min(double c, ValueRange x) {
    return map(x, [&](Value v) { return emitMin(b, constant(c), v); });
  }
  Group abs(ValueRange x) {
    return map(x, [&](Value v) { return math::AbsFOp::create(b, v); });
  }
  Group negate(ValueRange x) {
    return map(x, [&](Value v) { return arith::NegFOp::create(b, v); });
  }
  Group copySign(ValueRange x, ValueRange sign) {
    return map(x, sign, [&](Value u, Value v) { return math::CopySignOp::create(b, u, v); });
  }
  /// `large` where `distance` is at least `border`, else (NaN too) `small`.
  Group selectBeyond(ValueRange distance, double border, ValueRange large, ValueRange small) {
    Group result;
    for (auto [d, l, s] : llvm::zip_equal(distance, large, small)) {
      Value beyond = arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, d, constant(border));
      result.push_back(arith::SelectOp::create(b, beyond, l, s));
    }
    return result;
  }
  /// c[0] + c[1] x + ..., by Horner's rule.
  Group polynomial(ValueRange x, ArrayRef<double> c) {
    Group r = fma(x, c.back(), c[c.size() - 2]);
    for (double k : llvm::reverse(c.drop_back(2)))
      for (auto [i, v] : llvm::enumerate(x))
        r[i] = emitFma(b, r[i], v, constant(k));
    return r;
  }

  Group bits(ValueRange x) {
    return map(x, [&](Value v) { return arith::BitcastOp::create(b, integers, v); });
  }
  Group floats(ValueRange x) {
    return map(x, [&](Value v) { return arith::BitcastOp::create(b, type, v); });
  }
  /// 2^k for whole numbers -126 <= k <= 127.
  Group powerOfTwo(ValueRange k) {
    return floats(map(k, [&](Value v) -> Value {
      Value biased = arith::AddIOp::create(b, v, integer(127));
      return arith::ShLIOp::create(b, biased, integer(23));
    }));
  }
  /// p * 2^n where `t` is n + roundingMagic: adds n to p's exponent, so the
  /// result must be a normal number.
  Group scaleNormal(ValueRange p, ValueRange t) {
    Group shifted = map(bits(t), [&](Value v) { return arith::ShLIOp::create(b, v, integer(23)); });
    return floats(
        map(bits(p), shifted, [&](Value u, Value v) { return arith::AddIOp::create(b, u, v); }));
  }
  /// p * 2^n for any n in [-252, 254], correctly rounded once.
  Group scale(ValueRange p, ValueRange t) {
    Group n = map(bits(t), [&](Value v) -> Value {
      return arith::SubIOp::create(b, v, integer(roundingMagicBits));
    });
    Group half = map(n, [&](Value v) { return arith::ShRSIOp::create(b, v, integer(1)); });
    Group rest = map(n, half, [&](Value u, Value v) { return arith::SubIOp::create(b, u, v); });
    return mul(mul(p, powerOfTwo(half)), powerOfTwo(rest));
  }

  /// x = n + f: n + roundingMagic into `t`, f in [-1/2, 1/2]; returns 2^f,
  /// relative error of the polynomial 1.9e-9.
  Group exp2Reduced(ValueRange x, Group &t) {
    t = add(x, roundingMagic);
    Group f = sub(x, add(t, -roundingMagic));
    return polynomial(f, {1.0, 0.6931471824645996, 0.24022650718688965, 0.055503278970718384,
                          0.009618005715310574, 0.0013400274328887463, 0.0001547593710711226});
  }
  /// 2^x, a normal number.
  Group exp2Normal(ValueRange x) {
    Group t;
    Group p = exp2Reduced(x, t);
    return scaleNormal(p, t);
  }
  /// x = n ln 2 + r: n + roundingMagic into `t`; returns e^r - 1, relative error
  /// of the polynomial 3.1e-9 / r.
  Group expm1Reduced(ValueRange x, Group &t) {
    t = fma(x, log2e, roundingMagic);
    Group n = add(t, -roundingMagic);
    // The first part of ln 2 has nine bits: its product with n is exact.
    Group r = fma(n, -0.693359375, x);
    r = fma(n, 2.12194440e-4, r);
    Group q = polynomial(r, {0.5, 0.166665181517601, 0.04166620597243309, 0.008368889801204205,
                             0.0013950489228591323});
    return fma(mul(q, r), r, r);
  }

  ImplicitLocOpBuilder &b;
  Type type, integers;
};

/// x / (1 + e), for x and its exponential e.
Group sigmoidTimes(Math &m, ValueRange x, ValueRange e) { return m.div(x, m.add(e, 1.0)); }

} // namespace

Group transformer::emitExp2(ImplicitLocOpBuilder &b, ValueRange x) {
  Math m(b, x);
  Group t;
  Group p = m.exp2Reduced(m.min(130.0, m.max(-152.0, x)), t);
  return m.scale(p, t);
}

Group transformer::emitExp(ImplicitLocOpBuilder &b, ValueRange x) {
  Math m(b, x);
  Group t;
  Group p = m.expm1Reduced(m.min(89.5, m.max(-105.0, x)), t);
  return m.scale(m.add(p, 1.0), t);
}

Group transformer::emitExp2NonPositive(ImplicitLocOpBuilder &b, ValueRange x) {
  Math m(b, x);
  return m.exp2Normal(m.max(-127.0, x)); // 2^-127 has no bits
}

Group transformer::emitExp2Normal(ImplicitLocOpBuilder &b, ValueRange x) {
  return Math(b, x).exp2Normal(x);
}

Group transformer::emitTanh(ImplicitLocOpBuilder &b, ValueRange x) {
  Math m(b, x);
  // |x| < 0.55: x + x^3 P(x^2), relative error 1e-9.
  Group square = m.mul(x, x);
  Group small =
      m.polynomial(square, {-0.33333319425582886, 0.13332602381706238, -0.05385396629571915,
                            0.02107815258204937, -0.006282975897192955});
  small = m.fma(m.mul(small, square), x, x);
  // Beyond: 1 - 2 / (e^(2|x|) + 1); from 9.05 on it rounds to 1.
  Group a = m.min(9.05, m.abs(x));
  Group t;
  Group p = m.add(m.expm1Reduced(m.mul(a, 2.0), t), 1.0);
  Group twos(x.size(), m.constant(2.0));
  Group rest = m.div(twos, m.add(m.scaleNormal(p, t), 1.0));
  Group large = m.fma(rest, -1.0, 1.0);
  return m.copySign(m.selectBeyond(a, 0.55, large, small), x);
}

Group transformer::emitErf(ImplicitLocOpBuilder &b, ValueRange x) {
  Math m(b, x);
  // |x| < 0.9: x + x P(x^2), error 3.2e-10.
  Group square = m.mul(x, x);
  Group small = m.polynomial(square, {0.128379225730896, -0.37612634897232056, 0.11283715814352036,
                                      -0.026860501617193222, 0.005203773267567158,
                                      -0.0008173957467079163, 8.503205754095688e-05});
  small = m.fma(small, x, x);
  // Beyond: 1 - 2^P(|x|), P = log2(erfc), error 1.6e-9; from 4 on it is 1.
  Group a = m.min(4.0, m.abs(x));
  Group p = m.polynomial(a, {-0.0002560617576818913, -1.626998782157898, -0.9190828800201416,
                             -0.15009425580501556, 0.03213907778263092, -0.004408319480717182,
                             0.0002844741684384644});
  Group large = m.copySign(m.fma(m.exp2Normal(p), -1.0, 1.0), x);
  return m.selectBeyond(a, 0.9, large, small);
}

Group transformer::emitGeluErf(ImplicitLocOpBuilder &b, ValueRange x) {
  // max(x, 0) - |x| 2^P(|x|), P = log2(erfc(|x| / sqrt 2) / 2): no division and
  // no cancellation where x is negative. Error of P 1.3e-8 max(1, |P|) up to 6.5.
  Math m(b, x);
  Group a = m.min(6.5, m.abs(x));
  Group p = m.polynomial(a, {-1.0, -1.151105284690857, -0.4592130184173584, -0.052459366619586945,
                             0.006960826925933361, 4.152863311901456e-06, -0.00029276477289386094,
                             8.521174459019676e-05, -1.3894167750549968e-05, 1.3970872032587067e-06,
                             -8.078819035972629e-08, 2.0589032700968346e-09});
  return m.fma(m.negate(a), m.exp2Normal(p), m.max(0.0, x));
}

Group transformer::emitGeluTanh(ImplicitLocOpBuilder &b, ValueRange x) {
  // (1 + tanh u) / 2 = 1 / (1 + e^(-2u)): no cancellation. Below -10 nothing is
  // left of the result, and 2^126 is not passed.
  Math m(b, x);
  constexpr double factor = -2.0 * 0.7978845608028654 * log2e; // -2 sqrt(2/pi) log2(e)
  Group y = m.max(-10.0, x);
  Group u = m.fma(m.mul(y, y), factor * 0.044715, factor);
  u = m.max(-126.0, m.mul(u, y));
  return sigmoidTimes(m, y, m.exp2Normal(u));
}

Group transformer::emitSilu(ImplicitLocOpBuilder &b, ValueRange x) {
  Math m(b, x);
  constexpr double limit = -87.0; // e^87 is below the largest float
  Group y = m.max(limit, x);
  Group t;
  Group p = m.expm1Reduced(m.max(limit, m.negate(y)), t);
  return sigmoidTimes(m, y, m.scaleNormal(m.add(p, 1.0), t));
}

Group transformer::emitQuickGelu(ImplicitLocOpBuilder &b, ValueRange x) {
  Math m(b, x);
  Group y = m.max(-51.0, x); // 2^125 in the exponential
  return sigmoidTimes(m, y, m.exp2Normal(m.max(-126.0, m.mul(y, -1.702 * log2e))));
}

Group transformer::emitRelu(ImplicitLocOpBuilder &b, ValueRange x) {
  return Math(b, x).max(0.0, x);
}

ActivationEmitter transformer::activationEmitter(ActivationKind kind) {
  switch (kind) {
  case ActivationKind::Relu:
    return emitRelu;
  case ActivationKind::Gelu:
    return emitGeluErf;
  case ActivationKind::GeluTanh:
    return emitGeluTanh;
  case ActivationKind::Silu:
    return emitSilu;
  case ActivationKind::QuickGelu:
    return emitQuickGelu;
  case ActivationKind::Tanh:
    return emitTanh;
  }
  llvm_unreachable("an activation without a formula");
}
