//===- SampleSquares.cpp - mean squares of rows or columns, from a sample -===//
//
// Runs once for a weight, when a program starts, and looks at few of its lines:
// it costs next to nothing beside packing. Lines that are rows (dim = 1) are
// added vector by vector, lines that are columns (dim = 0) come in vectors of
// neighbours that are spread over the matrix. Scales for Winograd's inner product
// follow from the squares by arithmetic on their exponents.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/nests/NestEmitters.h"
#include "codegen/cpu/nests/Rows.h"
#include "codegen/math/VectorMath.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Lines of a matrix that are looked at, if it has more.
constexpr int64_t sampleLines = 32;

/// A line, or a vector of lines: the mean of its squares and what each of them is
/// multiplied by. It does not count at all where `counts` is false: 0 times an
/// infinity is no number.
struct Line {
  Value mean, factor, counts;
};

class SquareSampler {
public:
  /// `factors` may be null.
  SquareSampler(Emit &b, Value factors, Value out)
      : b(b), factors(factors), out(out), width(rowWidth(out)) {}

  /// Of all lines of some matrices with one number of columns (dim = 1) or rows.
  void emit(ValueRange matrices, int64_t dim) {
    zeroRow(b, width, out, {});
    for (Value matrix : matrices)
      dim == 1 ? addRows(matrix) : addColumns(matrix);
    finish();
  }

private:
  static int64_t size(Value matrix, int64_t dim) {
    return cast<MemRefType>(matrix.getType()).getDimSize(dim);
  }

  Value compare(arith::CmpFPredicate predicate, Value x, double bound) {
    return arith::CmpFOp::create(b, predicate, x, floatConstant(b, x.getType(), bound));
  }

  /// Whether `x`, f32 or a vector of it, is above `least` and far from infinity.
  Value isBetween(Value x, arith::CmpFPredicate above, double least) {
    return b.both(compare(above, x, least), compare(arith::CmpFPredicate::OLT, x, 0x1p100));
  }

  /// `sum` is that of the squares, `factor` may be null.
  Line lineOf(Value sum, Value factor) {
    Value mean = b.divf(sum, floatConstant(b, sum.getType(), double(width)));
    Value counts = isBetween(mean, arith::CmpFPredicate::OGT, 0x1p-100);
    if (factor)
      return {mean, factor, b.both(counts, isBetween(factor, arith::CmpFPredicate::OGE, 0))};
    return {mean, b.divf(floatConstant(b, sum.getType(), 1), mean), counts};
  }

  /// What x adds. A zero tells nothing: where most are zeros, a sample has too few
  /// others.
  Value term(Value x, Value mean, Value factor) {
    Value none = compare(arith::CmpFPredicate::OEQ, x, 0);
    return b.mulf(b.select(none, mean, b.mulf(x, x)), factor);
  }

  void addRows(Value matrix) {
    int64_t lines = size(matrix, 0), step = llvm::divideCeil(lines, sampleLines);
    b.forEach(b.index(0), b.index(lines), step, [&](Value line) {
      Value sum = sumRow(b, width, [&](Value column, int64_t lanes, Value accumulator) {
        Value x = b.loadVector(matrix, {line, column}, lanes);
        return emitFma(b, x, x, accumulator);
      });
      Line of = lineOf(sum, factors ? b.load(factors, line) : Value());
      b.ifThen(of.counts, [&] {
        Value mean = b.broadcast(of.mean), factor = b.broadcast(of.factor);
        sweepRow(b, width, {}, [&](Value column, int64_t lanes, Value) {
          Value x = b.loadVector(matrix, {line, column}, lanes);
          Value before = b.loadVector(out, column, lanes);
          b.storeVector(b.addf(before, term(x, mean, factor)), out, column, lanes);
          return Value();
        });
      });
    });
    looked += llvm::divideCeil(lines, step);
  }

  void addColumns(Value matrix) {
    int64_t lines = size(matrix, 1), lanes = std::min(b.lanes(), lines);
    int64_t vectors = std::min<int64_t>(llvm::divideCeil(lines, b.lanes()),
                                        std::max<int64_t>(1, sampleLines / b.lanes()));
    auto column = [&](int64_t i) {
      return b.index(vectors == 1 ? 0 : i * (lines - lanes) / (vectors - 1));
    };
    auto load = [&](Value row, int64_t i) { return b.loadVector(matrix, {row, column(i)}, lanes); };
    Values sums = b.loop(b.index(0), b.index(width), 1, Values(vectors, b.splat(0)),
                         [&](Value row, ValueRange args) {
                           Values next;
                           for (int64_t i = 0; i < vectors; ++i) {
                             Value x = load(row, i);
                             next.push_back(emitFma(b, x, x, args[i]));
                           }
                           return next;
                         });
    SmallVector<Line> of;
    for (int64_t i = 0; i < vectors; ++i)
      of.push_back(lineOf(sums[i], factors ? b.loadVector(factors, column(i), lanes) : Value()));
    b.forEach(b.index(0), b.index(width), 1, [&](Value row) {
      Values terms;
      for (int64_t i = 0; i < vectors; ++i) {
        Value x = term(load(row, i), of[i].mean, of[i].factor);
        terms.push_back(b.select(of[i].counts, x, b.splat(0)));
      }
      b.store(b.addf(b.load(out, row), b.sumLanes(b.sumTree(terms))), out, row);
    });
    looked += vectors * lanes;
  }

  /// Sums to means, positive ones, so that they have logarithms.
  void finish() {
    Value factor = b.splat(1.0 / double(looked)), least = b.splat(0x1p-120);
    sweepRow(b, width, {}, [&](Value column, int64_t lanes, Value) {
      Value x = b.mulf(b.loadVector(out, column, lanes), factor);
      b.storeVector(emitMax(b, x, least), out, column, lanes);
      return Value();
    });
  }

  Emit &b;
  Value factors, out;
  int64_t width;
  int64_t looked = 0; // lines, of all matrices
};

} // namespace

void transformer::emitNest(Emit &b, cpu::SampleSquaresOp op) {
  SquareSampler(b, op.getFactors(), op.getOuts()[0]).emit(op.getMatrix(), op.getDim());
}

void transformer::emitNest(Emit &b, cpu::WinogradScalesOp op) {
  Value out = op.getOuts()[0], squares = op.getSquares();
  SquareSampler(b, {}, out).emit(op.getWeights(), op.getLayout() == WeightLayout::OutIn ? 1 : 0);
  // The bits of a positive number, seen as an integer, are about 2^23 (log2 of it + 127).
  constexpr int32_t mantissaBits = 23, exponentBias = 127;
  int64_t width = rowWidth(out);
  auto integers = b.vectorType().clone(b.getI32Type());
  auto logarithm = [&](Value x) -> Value {
    Value bits = arith::BitcastOp::create(b, integers, x);
    return b.mulf(arith::SIToFPOp::create(b, b.vectorType(), bits),
                  b.splat(1.0 / (1 << mantissaBits)));
  };
  Value total = sumRow(b, width, [&](Value column, int64_t lanes, Value accumulator) {
    Value x = logarithm(b.loadVector(out, column, lanes));
    if (squares)
      x = b.subf(x, logarithm(b.loadVector(squares, column, lanes)));
    b.storeVector(x, out, column, lanes); // lanes outside are 0 in both
    return b.addf(accumulator, x);
  });
  Value mean = b.broadcast(b.divf(total, b.scalar(double(width))));
  sweepRow(b, width, {}, [&](Value column, int64_t lanes, Value) {
    Value x = b.mulf(b.subf(b.loadVector(out, column, lanes), mean), b.splat(0.125));
    Value exponent =
        arith::FPToSIOp::create(b, integers, math::FloorOp::create(b, b.addf(x, b.splat(0.5))));
    Value bits =
        arith::ShLIOp::create(b, exponent, integerConstant(b, x.getType(), mantissaBits + 1));
    bits = arith::AddIOp::create(b, bits,
                                 integerConstant(b, x.getType(), exponentBias << mantissaBits));
    b.storeVector(arith::BitcastOp::create(b, b.vectorType(), bits), out, column, lanes);
    return Value();
  });
}
