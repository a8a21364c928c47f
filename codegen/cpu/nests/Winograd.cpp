//===- Winograd.cpp - scales and corrections for Winograd's inner product -===//
//
// Both sides go through two sweeps: the sum of squares, whose root's exponent is the
// scale, and then scaling and the corrections in one. Corrections of weights are
// summed in double precision; those of a row in the lanes of three vectors, so
// that each has a forty-eighth of the terms (with AVX-512). The first sweep over a
// row fetches the next one, part of which the other core has just written.
//
//===----------------------------------------------------------------------===//
#include "codegen/Winograd.h"
#include "codegen/cpu/nests/NestEmitters.h"
#include "codegen/cpu/nests/NestWork.h"
#include "codegen/cpu/nests/Rows.h"
#include "codegen/cpu/nests/VectorMath.h"
#include "codegen/cpu/nests/WinogradNest.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Powers of two, f32 or vectors of it.
struct Scale {
  Value factor, inverse;
};

/// factor = 2^-e and inverse = 2^e where the root of `meanSquare` is in
/// [2^e, 2^(e + 1)); |e| at most 63, so that neither overflows, nor what they
/// scale once more.
Scale scaleOf(Emit &b, Value meanSquare) {
  Value root = math::SqrtOp::create(b, meanSquare);
  auto integer = [&](int32_t value) { return integerConstant(b, root.getType(), value); };
  constexpr int32_t mantissaBits = 23, bias = 127, most = 63;
  Value least = integer((bias - most) << mantissaBits);
  Value bits = arith::BitcastOp::create(b, least.getType(), root);
  bits = arith::MaxSIOp::create(b, bits, least);
  bits = arith::MinSIOp::create(b, bits, integer((bias + most) << mantissaBits));
  bits = arith::AndIOp::create(b, bits, integer(0xff << mantissaBits));
  Value opposite = arith::SubIOp::create(b, integer((2 * bias) << mantissaBits), bits);
  return {arith::BitcastOp::create(b, root.getType(), opposite),
          arith::BitcastOp::create(b, root.getType(), bits)};
}

/// One vector of columns of a panel.
class PanelScaler {
public:
  PanelScaler(Emit &b, Value panels, Value panel, Value column, int64_t k)
      : b(b), panels(panels), panel(panel), column(column), k(k) {}

  void emit() {
    int64_t last = winograd::kStep * winograd::steps(k);
    for (int64_t row = winograd::kStep + k; row < last; ++row)
      store(b.splat(0), b.index(row));
    Scale scale = scaleOf(b, meanSquare());
    Value correction = scaleRows(scale.factor);
    for (int64_t row = 0; row < winograd::kStep; ++row)
      store(row == winograd::kInverseScale       ? scale.inverse
            : row == winograd::kWeightCorrection ? correction
            : row == winograd::kRowCorrection    ? b.splat(1)
                                                 : b.splat(0),
            b.index(row));
  }

private:
  Value load(Value row) { return b.loadVector(panels, {panel, row, column}); }
  void store(Value x, Value row) { b.storeVector(x, panels, {panel, row, column}); }

  Values forSteps(ValueRange init, function_ref<Values(Value row, ValueRange)> body) {
    return b.loop(b.index(winograd::kStep), b.index(winograd::kStep * winograd::steps(k)),
                  winograd::kStep, init, body);
  }

  Value meanSquare() {
    Values sums = forSteps(Values(winograd::kStep, b.splat(0)), [&](Value row, ValueRange args) {
      Values next;
      for (auto [i, sum] : llvm::enumerate(args)) {
        Value w = load(b.add(row, i));
        next.push_back(emitFma(b, w, w, sum));
      }
      return next;
    });
    return b.divf(b.sumTree(sums), b.splat(k));
  }

  Value scaleRows(Value factor) {
    VectorType wide = b.vectorType().clone(b.getF64Type());
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(wide));
    auto extend = [&](Value x) -> Value { return arith::ExtFOp::create(b, wide, x); };
    Values sums = forSteps({zero, zero}, [&](Value row, ValueRange args) {
      Values w;
      for (int64_t i = 0; i < winograd::kStep; ++i) {
        w.push_back(b.mulf(load(b.add(row, i)), factor));
        store(w.back(), b.add(row, i));
      }
      for (Value &x : w)
        x = extend(x);
      // Exact products.
      return Values{b.addf(args[0], b.mulf(w[0], w[1])), b.addf(args[1], b.mulf(w[3], w[4]))};
    });
    return arith::TruncFOp::create(b, b.vectorType(), b.subf(sums[1], sums[0]));
  }

  Emit &b;
  Value panels, panel, column;
  int64_t k;
};

/// One row of x.
class RowScaler {
public:
  RowScaler(Emit &b, Value x, Value rows, Value inverses)
      : b(b), x(x), rows(rows), inverses(inverses), k(rowWidth(x)) {}

  void emit(Value at) {
    row = at;
    Value next = b.add(row, 1);
    Value sum = sumRow(b, k, [&](Value column, int64_t lanes, Value accumulator) {
      b.prefetchRow(x, next, column, lanes);
      Value v = b.loadVector(x, {row, column}, lanes);
      return emitFma(b, v, v, accumulator);
    });
    Scale scale = scaleOf(b, b.divf(sum, b.scalar(k)));
    factor = b.broadcast(scale.factor);
    Value correction = b.sumLanes(b.sumTree(sweep()));
    for (int64_t i = 0; i < winograd::kStep; ++i)
      b.store(i == winograd::kWeightCorrection ? b.scalar(1)
              : i == winograd::kRowCorrection  ? correction
                                               : b.scalar(0),
              rows, {row, b.index(i)});
    for (int64_t i = k + winograd::kStep; i < winograd::kStep * winograd::steps(k); ++i)
      b.store(b.scalar(0), rows, {row, b.index(i)});
    Value inverse = b.broadcast(scale.inverse);
    for (int64_t column = 0; column < rowWidth(inverses); column += b.lanes())
      b.storeVector(inverse, inverses, {row, b.index(column)});
  }

private:
  /// Vectors after which the pairs begin in the same lanes again.
  static constexpr int64_t period = 3;

  /// Scales the row; the sums of the pairs in the lanes where they begin.
  Values sweep() {
    Values signs, sums(period, b.splat(0));
    for (int64_t i = 0; i < period; ++i)
      signs.push_back(signsFrom(i * b.lanes()));
    int64_t group = period * b.lanes(), whole = (k - 1) / group * group; // one behind each is there
    if (whole)
      sums = b.loop(b.index(0), b.index(whole), group, sums, [&](Value column, ValueRange args) {
        Values next;
        for (int64_t i = 0; i < period; ++i)
          next.push_back(
              scaleVector(b.add(column, i * b.lanes()), b.lanes(), b.lanes(), signs[i], args[i]));
        return next;
      });
    for (int64_t i = 0, column = whole; column < k; ++i, column += b.lanes()) {
      int64_t count = std::min(b.lanes(), k - column), behind = std::min(b.lanes(), k - column - 1);
      sums[i] = scaleVector(b.index(column), count, behind, signs[i], sums[i]);
    }
    return sums;
  }

  /// `count` lanes at `column` to their place; `sum` with the products of each
  /// and the one behind it, of which `behind` are there.
  Value scaleVector(Value column, int64_t count, int64_t behind, Value sign, Value sum) {
    Value here = b.mulf(b.loadVector(x, {row, column}, count), factor);
    b.storeVector(here, rows, {row, b.add(column, winograd::kStep)}, count);
    if (behind == 0)
      return sum;
    Value next = b.mulf(b.loadVector(x, {row, b.add(column, 1)}, behind), factor);
    return emitFma(b, b.mulf(here, sign), next, sum);
  }

  /// For the lanes from k = `first` on: -1 and 1 where a pair begins, 0 elsewhere.
  Value signsFrom(int64_t first) {
    SmallVector<float> signs;
    for (int64_t i = first; i < first + b.lanes(); ++i)
      signs.push_back(i % winograd::kStep == 0 ? -1 : i % winograd::kStep == 3 ? 1 : 0);
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(b.vectorType(), ArrayRef<float>(signs)));
  }

  Emit &b;
  Value x, rows, inverses, row, factor;
  int64_t k;
};

} // namespace

void transformer::scaleWinogradPanel(Emit &b, Value panels, Value at, int64_t k) {
  for (int64_t column = 0; column < rowWidth(panels); column += b.lanes())
    PanelScaler(b, panels, at, b.index(column), k).emit();
}

void transformer::emitWinogradRows(Emit &b, kernel::WinogradRowsOp op) {
  Value x = op.getX(), inverses = op.getOuts()[1], count = b.dim(x, 0);
  Value rows = memref::CollapseShapeOp::create(b, op.getOuts()[0],
                                               ArrayRef<ReassociationIndices>{{0}, {1, 2}});
  int64_t width = rowWidth(x), size = Emit::itemsPerTask(width);
  Work work = rowWork("winograd_rows", "tokens", width, 2);
  b.parallel(work, count, b.ceilDiv(count, size), [&](Value task) {
    auto [lower, upper] = taskRange(b, task, size, count);
    b.forEach(lower, upper, 1, [&](Value row) { RowScaler(b, x, rows, inverses).emit(row); });
  });
}
