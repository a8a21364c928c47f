//===- Doubles.cpp - functions in double precision ------------------------===//
#include "codegen/gpu/nests/Doubles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Arithmetic on f64 and the integers that its bits are.
struct Doubles {
  ImplicitLocOpBuilder &b;

  Value real(double v) { return arith::ConstantOp::create(b, b.getF64FloatAttr(v)); }
  Value integer(int64_t v) { return arith::ConstantOp::create(b, b.getI64IntegerAttr(v)); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, x, y, z); }
  Value round(Value x) { return math::RoundEvenOp::create(b, x); }
  Value fromInteger(Value v) { return arith::SIToFPOp::create(b, b.getF64Type(), v); }
  Value toInteger(Value v) { return arith::FPToSIOp::create(b, b.getI64Type(), v); }
  Value bitsOf(Value v) { return arith::BitcastOp::create(b, b.getI64Type(), v); }
  Value ofBits(Value v) { return arith::BitcastOp::create(b, b.getF64Type(), v); }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, condition, x, y);
  }
  Value is(arith::CmpFPredicate predicate, Value x, double y) {
    return arith::CmpFOp::create(b, predicate, x, real(y));
  }
  Value clamp(Value x, double least, double most) {
    x = select(is(arith::CmpFPredicate::OLT, x, least), real(least), x);
    return select(is(arith::CmpFPredicate::OGT, x, most), real(most), x);
  }

  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value r = real(coefficients.back());
    for (double c : llvm::reverse(coefficients.drop_back()))
      r = fma(r, x, real(c));
    return r;
  }

  Value negate(Value x) { return arith::NegFOp::create(b, x); }

  /// x / y of a y in [1.7, 2.42], without the subroutine that a division is: Newton's iteration.
  Value quotient(Value x, Value y) {
    Value one = real(1), inverse = fma(y, real(-0.24264), one); // to 3 %
    for (int i = 0; i < 4; ++i)
      inverse = fma(inverse, fma(negate(y), inverse, one), inverse);
    Value q = mul(x, inverse);
    return fma(fma(negate(q), y, x), inverse, q);
  }

  /// 2^n of an integer in [-1022, 1023].
  Value powerOfTwo(Value n) {
    Value biased = arith::AddIOp::create(b, n, integer(1023));
    return ofBits(arith::ShLIOp::create(b, biased, integer(52)));
  }
};

constexpr double ln2High = 6.93147180369123816490e-01, // 33 bits
    ln2Low = 1.90821492927058770002e-10;

} // namespace

/// The Taylor polynomials' errors on [-pi/4, pi/4] are below 1e-15.
std::pair<Value, Value> transformer::simt::emitSineAndCosine(ImplicitLocOpBuilder &builder,
                                                             Value angle) {
  Doubles b{builder};
  Value turns = b.round(b.mul(angle, b.real(0.63661977236758134308)));
  // pi / 2 in three parts, of which the first two have 33 bits.
  Value r = b.fma(turns, b.real(-1.57079632673412561417e+00), angle);
  r = b.fma(turns, b.real(-6.07710050630396597660e-11), r);
  r = b.fma(turns, b.real(-2.02226624879595063154e-21), r);
  Value x = b.mul(r, r);
  Value sine = b.mul(r, b.polynomial(x, {1.0, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880,
                                         -1.0 / 39916800, 1.0 / 6227020800.0}));
  Value cosine = b.polynomial(x, {1.0, -0.5, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800,
                                  1.0 / 479001600, -1.0 / 87178291200.0});
  Value quarter = b.toInteger(turns);
  auto bit = [&](Value v, int64_t mask) -> Value {
    Value masked = arith::AndIOp::create(builder, v, b.integer(mask));
    return arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, masked, b.integer(0));
  };
  auto signedBy = [&](Value negative, Value v) {
    return b.select(negative, arith::NegFOp::create(builder, v), v);
  };
  Value odd = bit(quarter, 1);
  Value sineOf = b.select(odd, cosine, sine), cosineOf = b.select(odd, sine, cosine);
  Value next = arith::AddIOp::create(builder, quarter, b.integer(1));
  return {signedBy(bit(quarter, 2), sineOf), signedBy(bit(next, 2), cosineOf)};
}

/// 2^n e^r with r in [-ln(2) / 2, ln(2) / 2], where the Taylor polynomial's error is below 1e-17.
Value transformer::simt::emitExponential(ImplicitLocOpBuilder &builder, Value x) {
  Doubles b{builder};
  Value clamped = b.clamp(x, -750, 710); // n fits, and a NaN stays one
  Value n = b.round(b.mul(clamped, b.real(1.4426950408889634074)));
  Value r = b.fma(n, b.real(-ln2High), clamped);
  r = b.fma(n, b.real(-ln2Low), r);
  SmallVector<double> coefficients = {1};
  for (int i = 1; i <= 13; ++i)
    coefficients.push_back(coefficients.back() / i);
  Value p = b.polynomial(r, coefficients);
  // In two steps: the smallest results are denormal.
  Value whole = b.toInteger(n);
  Value half = arith::ShRSIOp::create(builder, whole, b.integer(1));
  Value rest = arith::SubIOp::create(builder, whole, half);
  return b.mul(b.mul(p, b.powerOfTwo(half)), b.powerOfTwo(rest));
}

/// n ln(2) + ln(m) with m in [sqrt(1/2), sqrt(2)), by atanh's series.
Value transformer::simt::emitLogarithm(ImplicitLocOpBuilder &builder, Value x) {
  Doubles b{builder};
  using enum arith::CmpFPredicate;
  // Denormals are made normal.
  Value isSmall = b.is(OLT, x, 0x1p-1022);
  Value scaled = b.select(isSmall, b.mul(x, b.real(0x1p54)), x);
  Value bits = b.bitsOf(scaled);
  // Bits of sqrt(1/2): what is at least that has the exponent of 1.
  constexpr int64_t rootHalf = 0x3FE6A09E667F3BCD, mantissa = 0x000FFFFFFFFFFFFF;
  Value shifted = arith::SubIOp::create(builder, bits, b.integer(rootHalf));
  Value n = arith::ShRSIOp::create(builder, shifted, b.integer(52));
  Value fraction = arith::AndIOp::create(builder, shifted, b.integer(mantissa));
  Value m = b.ofBits(arith::AddIOp::create(builder, fraction, b.integer(rootHalf)));
  Value exponent = b.sub(b.fromInteger(n), b.select(isSmall, b.real(54), b.real(0)));
  Value one = b.real(1), s = b.quotient(b.sub(m, one), b.add(m, one)), square = b.mul(s, s);
  SmallVector<double> coefficients;
  for (int i = 0; i <= 10; ++i)
    coefficients.push_back(2.0 / (2 * i + 1));
  Value ofFraction = b.mul(s, b.polynomial(square, coefficients));
  Value result =
      b.add(b.mul(exponent, b.real(ln2High)), b.fma(exponent, b.real(ln2Low), ofFraction));
  constexpr double infinity = std::numeric_limits<double>::infinity();
  result = b.select(b.is(OEQ, x, infinity), x, result);
  result = b.select(b.is(OEQ, x, 0), b.real(-infinity), result);
  Value positive = b.is(OGE, x, 0);
  return b.select(positive, result, b.real(std::numeric_limits<double>::quiet_NaN()));
}

void transformer::simt::expandDoubleMath(Operation *root) {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    if (isa<math::ExpOp, math::PowFOp>(op) ? op->getResult(0).getType().isF64()
                                           : isa<math::LogOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    ImplicitLocOpBuilder b(op->getLoc(), op);
    Value x = op->getOperand(0), result;
    bool isNarrow = x.getType().isF32();
    if (isNarrow)
      x = arith::ExtFOp::create(b, b.getF64Type(), x);
    if (isa<math::ExpOp>(op)) {
      result = emitExponential(b, x);
    } else if (isa<math::LogOp>(op)) {
      result = emitLogarithm(b, x);
    } else { // 0^0 is 1
      Value y = op->getOperand(1), product = arith::MulFOp::create(b, y, emitLogarithm(b, x));
      Value zero = arith::ConstantOp::create(b, b.getF64FloatAttr(0)),
            one = arith::ConstantOp::create(b, b.getF64FloatAttr(1));
      Value isZero = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, y, zero);
      result = arith::SelectOp::create(b, isZero, one, emitExponential(b, product));
    }
    if (isNarrow)
      result = arith::TruncFOp::create(b, b.getF32Type(), result);
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }
}
