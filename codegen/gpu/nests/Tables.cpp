//===- Tables.cpp - sines and cosines of positions ------------------------===//
#include "codegen/gpu/nests/Kernels.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

namespace {

/// Double precision, without a device library.
struct Doubles {
  Loops &b;

  Value real(double v) { return arith::ConstantOp::create(b, b.getF64FloatAttr(v)); }
  Value fromIndex(Value v) { return fromInteger(arith::IndexCastOp::create(b, b.getI64Type(), v)); }
  Value fromInteger(Value v) { return arith::SIToFPOp::create(b, b.getF64Type(), v); }
  Value narrow(Value v) { return arith::TruncFOp::create(b, b.getF32Type(), v); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, x, y, z); }

  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value r = real(coefficients.back());
    for (double c : llvm::reverse(coefficients.drop_back()))
      r = fma(r, x, real(c));
    return r;
  }

  /// Sine and cosine of an angle of at most 1e6. The Taylor polynomials' errors on
  /// [-pi/4, pi/4] are below 1e-15.
  std::pair<Value, Value> sineAndCosine(Value angle) {
    Value turns = math::RoundEvenOp::create(b, b.mulf(angle, real(0.63661977236758134308)));
    // pi / 2 in three parts, of which the first two have 33 bits.
    Value r = fma(turns, real(-1.57079632673412561417e+00), angle);
    r = fma(turns, real(-6.07710050630396597660e-11), r);
    r = fma(turns, real(-2.02226624879595063154e-21), r);
    Value x = b.mulf(r, r);
    Value sine = b.mulf(r, polynomial(x, {1.0, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880,
                                          -1.0 / 39916800, 1.0 / 6227020800.0}));
    Value cosine = polynomial(x, {1.0, -0.5, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800,
                                  1.0 / 479001600, -1.0 / 87178291200.0});
    Value quarter = arith::FPToSIOp::create(b, b.getI64Type(), turns);
    auto bit = [&](Value v, int64_t mask) -> Value {
      Value masked = arith::AndIOp::create(b, v, integer(mask));
      return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, masked, integer(0));
    };
    auto signedBy = [&](Value negative, Value v) {
      return b.select(negative, arith::NegFOp::create(b, v), v);
    };
    Value odd = bit(quarter, 1), one = integer(1);
    Value sineOf = b.select(odd, cosine, sine), cosineOf = b.select(odd, sine, cosine);
    return {signedBy(bit(quarter, 2), sineOf),
            signedBy(bit(arith::AddIOp::create(b, quarter, one), 2), cosineOf)};
  }

  Value integer(int64_t v) { return arith::ConstantOp::create(b, b.getI64IntegerAttr(v)); }
};

/// `values` as constants of the module's; element `i`.
Value element(Loops &b, ArrayRef<double> values, Value i) {
  auto type = MemRefType::get({static_cast<int64_t>(values.size())}, b.getF64Type());
  auto module = i.getParentRegion()->getParentOfType<ModuleOp>();
  std::string name;
  for (unsigned n = 0; name.empty() || SymbolTable::lookupSymbolIn(module, name); ++n)
    name = "frequencies_" + std::to_string(n);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    auto data =
        DenseElementsAttr::get(RankedTensorType::get(type.getShape(), b.getF64Type()), values);
    memref::GlobalOp::create(b, name, b.getStringAttr("private"), type, data, /*constant=*/true,
                             IntegerAttr());
  }
  return b.load(memref::GetGlobalOp::create(b, type, name), i);
}

} // namespace

void transformer::simt::emitKernel(Loops &b, kernel::SinusoidalTableOp op) {
  Value result = op.getOuts()[0];
  int64_t width = rowWidth(result), sines = (width + 1) / 2;
  bool interleaved = op.getLayout() == SinusoidLayout::Interleaved;
  SmallVector<double> powers;
  for (int64_t i = 0; i < sines; ++i)
    powers.push_back(std::pow(10000.0, 2.0 * double(i) / double(width)));
  b.threads({b.dim(result, 0), b.index(sines)}, [&](ValueRange at) {
    Doubles real{b};
    Value angle = b.divf(real.fromIndex(at[0]), element(b, powers, at[1]));
    auto [sine, cosine] = real.sineAndCosine(angle);
    Value sineColumn = interleaved ? b.mul(at[1], 2) : at[1];
    Value cosineColumn = b.add(sineColumn, interleaved ? 1 : sines);
    b.store(real.narrow(sine), result, {at[0], sineColumn});
    b.ifThen(b.less(cosineColumn, b.index(width)), // an odd width has one sine more
             [&] { b.store(real.narrow(cosine), result, {at[0], cosineColumn}); });
  });
}

void transformer::simt::emitKernel(Loops &b, kernel::RotaryTableOp op) {
  Value result = op.getOuts()[0], positions = op.getPositions();
  int64_t half = rowWidth(result) / 2;
  double scale = op.getScale().convertToDouble();
  b.threads({b.dim(result, 0), b.index(half)}, [&](ValueRange at) {
    Doubles real{b};
    Value position = real.fromInteger(b.load(positions, at[0]));
    Value angle = b.mulf(position, b.load(op.getFrequencies(), at[1]));
    auto [sine, cosine] = real.sineAndCosine(angle);
    b.store(real.narrow(b.mulf(cosine, real.real(scale))), result, at);
    b.store(real.narrow(b.mulf(sine, real.real(scale))), result, {at[0], b.add(at[1], half)});
  });
}

/// A thread a head: it writes a pair when it has read both.
void transformer::simt::emitKernel(Loops &b, kernel::RotaryEmbeddingOp op) {
  Value x = op.getX(), table = op.getTable(), result = op.getOuts()[0];
  int64_t heads = op.getNumHeads(), headDim = rowWidth(x) / heads;
  int64_t rotated = rowWidth(table), half = rotated / 2;
  b.threads({b.dim(x, 0), b.index(heads)}, [&](ValueRange at) {
    Value row = at[0], head = b.mul(at[1], headDim);
    b.forEach(b.index(0), b.index(half), [&](Value pair) {
      Value cosine = b.load(table, {row, pair}), sine = b.load(table, {row, b.add(pair, half)});
      Values first = {row, b.add(head, pair)}, second = {row, b.add(first[1], half)};
      Value u = b.load(x, first), v = b.load(x, second);
      b.store(b.subf(b.mulf(u, cosine), b.mulf(v, sine)), result, first);
      b.store(b.addf(b.mulf(v, cosine), b.mulf(u, sine)), result, second);
    });
    if (x != result && rotated < headDim)
      b.forEach(b.index(rotated), b.index(headDim), [&](Value i) {
        Values to = {row, b.add(head, i)};
        b.store(b.load(x, to), result, to);
      });
  });
}
