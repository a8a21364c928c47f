//===- Winograd.cpp - scales and corrections for Winograd's inner product -===//
//
// Both sides go through two sweeps: the sum of squares, whose root's exponent is the
// scale (of weights it is made where they are packed), and then scaling and the corrections in one.
// Corrections are summed in double precision; squares are summed again, in a wider range, should
// they leave float32's. The first sweep over a row fetches the next one, part of which the other
// core has just written.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/linear/Winograd.h"
#include "codegen/cpu/nests/NestEmitters.h"
#include "codegen/cpu/nests/NestWork.h"
#include "codegen/cpu/nests/Rows.h"
#include "codegen/cpu/nests/WinogradNest.h"
#include "codegen/math/VectorMath.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

constexpr int32_t mantissaBits = 23, exponentBias = 127;

} // namespace

Value transformer::inverseOf(Emit &b, Value power) {
  Value twice = integerConstant(b, power.getType(), (2 * exponentBias) << mantissaBits);
  Value bits = arith::BitcastOp::create(b, twice.getType(), power);
  return arith::BitcastOp::create(b, power.getType(), arith::SubIOp::create(b, twice, bits));
}

Scale transformer::scaleOf(Emit &b, Value root) {
  auto integer = [&](int32_t value) { return integerConstant(b, root.getType(), value); };
  constexpr int32_t most = 126;
  Value least = integer((exponentBias - most) << mantissaBits);
  Value bits = arith::BitcastOp::create(b, least.getType(), root);
  bits = arith::MaxSIOp::create(b, bits, least);
  bits = arith::MinSIOp::create(b, bits, integer((exponentBias + most) << mantissaBits));
  bits = arith::AndIOp::create(b, bits, integer(0xff << mantissaBits));
  Value inverse = arith::BitcastOp::create(b, root.getType(), bits);
  return {inverseOf(b, inverse), inverse};
}

namespace {

/// One vector of columns of a panel.
class PanelScaler {
public:
  PanelScaler(Emit &b, Value panels, Value panel, Value column, int64_t k)
      : b(b), panels(panels), panel(panel), column(column), k(k),
        wide(b.vectorType().clone(b.getF64Type())) {}

  /// `squares`: their sums.
  void emit(Value squares) {
    int64_t last = winograd::kStep * winograd::steps(k);
    for (int64_t row = winograd::kStep + k; row < last; ++row)
      store(b.splat(0), b.index(row));
    Scale scale = scaleOf(b, rootMeanSquare(squares));
    Value correction = scaleRows(scale.factor);
    for (int64_t row = 0; row < winograd::kStep; ++row)
      store(row == winograd::kInverseScale       ? scale.inverse
            : row == winograd::kWeightCorrection ? correction
            : row == winograd::kRowCorrection    ? b.splat(1)
                                                 : b.splat(0),
            b.index(row));
  }

private:
  void store(Value x, Value row) { b.storeVector(x, panels, {panel, row, column}); }

  /// Row `at` of the weight.
  Value load(Value at) { return b.loadVector(panels, {panel, b.add(at, winograd::kStep), column}); }

  Value extend(Value x) { return arith::ExtFOp::create(b, wide, x); }
  Value narrow(Value x) { return arith::TruncFOp::create(b, b.vectorType(), x); }
  Value wideSplat(double value) {
    return arith::ConstantOp::create(b, DenseElementsAttr::get(wide, value));
  }

  /// Calls `body` for the rows of the weight, a step's at once, of which the last
  /// may have fewer.
  Values forSteps(Values init, function_ref<Values(Value first, int64_t rows, ValueRange)> body) {
    int64_t whole = k / winograd::kStep * winograd::kStep;
    if (whole)
      init =
          b.loop(b.index(0), b.index(whole), winograd::kStep, init,
                 [&](Value first, ValueRange args) { return body(first, winograd::kStep, args); });
    return whole < k ? body(b.index(whole), k - whole, init) : init;
  }

  /// The sum of each column's squares, in double precision.
  Value sumSquares() {
    Values sums = forSteps(Values(winograd::kStep, wideSplat(0)),
                           [&](Value first, int64_t rows, ValueRange args) {
                             Values next(args);
                             for (int64_t i = 0; i < rows; ++i) {
                               Value w = extend(load(b.add(first, i)));
                               next[i] = emitFma(b, w, w, next[i]);
                             }
                             return next;
                           });
    return b.sumTree(sums);
  }

  Value root(Value sum, Value count) { return math::SqrtOp::create(b, b.divf(sum, count)); }

  /// The root of the mean of each column's squares; in double precision where one
  /// of them leaves float32's range.
  Value rootMeanSquare(Value sum) {
    auto is = [&](arith::CmpFPredicate predicate, double bound) -> Value {
      return arith::CmpFOp::create(b, predicate, sum, b.splat(bound));
    };
    Value inside = vector::ReductionOp::create(
        b, vector::CombiningKind::AND,
        b.both(is(arith::CmpFPredicate::OGT, 0x1p-80), is(arith::CmpFPredicate::OLT, 0x1p120)));
    return b
        .ifElse(
            inside, b.vectorType(), [&] { return Values{root(sum, b.splat(double(k)))}; },
            [&] { return Values{narrow(root(sumSquares(), wideSplat(double(k))))}; })
        .front();
  }

  /// Scales the rows; the correction.
  Value scaleRows(Value factor) {
    Value zero = wideSplat(0);
    Values sums = forSteps({zero, zero}, [&](Value first, int64_t rows, ValueRange args) {
      Values w;
      for (int64_t i = 0; i < rows; ++i) {
        w.push_back(b.mulf(load(b.add(first, i)), factor));
        store(w.back(), b.add(first, winograd::kStep + i));
      }
      auto pair = [&](int64_t i, Value sum) { // exact products
        return i + 1 < rows ? emitFma(b, extend(w[i]), extend(w[i + 1]), sum) : sum;
      };
      return Values{pair(0, args[0]), pair(3, args[1])};
    });
    return narrow(b.subf(sums[1], sums[0]));
  }

  Emit &b;
  Value panels, panel, column;
  int64_t k;
  VectorType wide;
};

/// One row of x.
class RowScaler {
public:
  RowScaler(Emit &b, Value x, Value scales, Value rows, Value inverses)
      : b(b), x(x), scales(scales), rows(rows), inverses(inverses), k(rowWidth(x)) {}

  void emit(Value at) {
    row = at;
    Scale scale = scaleOf(b, rootMeanSquare());
    factor = b.broadcast(scale.factor);
    Value correction = arith::TruncFOp::create(b, b.getF32Type(), b.sumLanes(sweep()));
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
  /// A pair begins at every third k, so in the same lanes again after three vectors.
  static constexpr int64_t period = winograd::kStep / 2;

  /// Features of their own scales.
  Value load(Value column, int64_t count) {
    return b.mulf(b.loadVector(x, {row, column}, count), b.loadVector(scales, column, count));
  }

  /// The root of the mean of squares. Where they leave float32's range, those of
  /// numbers scaled into it.
  Value rootMeanSquare() {
    auto root = [&](Value sum) -> Value {
      return math::SqrtOp::create(b, b.divf(sum, b.scalar(double(k))));
    };
    Value next = b.add(row, 1);
    Value sum = sumRow(b, k, [&](Value column, int64_t lanes, Value accumulator) {
      b.prefetchRow(x, next, column, lanes);
      Value v = load(column, lanes);
      return emitFma(b, v, v, accumulator);
    });
    auto above = [&](Value bound) -> Value {
      return arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, sum, bound);
    };
    Value tooLarge = above(b.scalar(0x1p120)), largeEnough = above(b.scalar(0x1p-80));
    Value outside = b.select(largeEnough, tooLarge, b.boolean(true));
    auto choose = [&](double large, double small) {
      return b.select(tooLarge, b.scalar(large), b.scalar(small));
    };
    return b
        .ifElse(
            outside, b.getF32Type(),
            [&] {
              Value scale = b.broadcast(choose(0x1p-72, 0x1p96));
              Value scaled = sumRow(b, k, [&](Value column, int64_t lanes, Value accumulator) {
                Value v = b.mulf(load(column, lanes), scale);
                return emitFma(b, v, v, accumulator);
              });
              return Values{b.mulf(root(scaled), choose(0x1p72, 0x1p-96))};
            },
            [&] { return Values{root(sum)}; })
        .front();
  }

  /// Scales the row; the correction, f64, spread over the lanes.
  Value sweep() {
    int64_t group = period * b.lanes(), whole = (k - 1) / group * group; // one behind each is there
    VectorType wide = b.vectorType().clone(b.getF64Type());
    Value sum = arith::ConstantOp::create(b, b.getZeroAttr(wide));
    if (whole)
      sum = b.loop(b.index(0), b.index(whole), group, sum, [&](Value column, ValueRange args) {
               return Values{scaleGroup(column, group, group, args[0])};
             }).front();
    return scaleGroup(b.index(whole), k - whole, k - whole - 1, sum);
  }

  /// `count` numbers at `column` to their place; `sum` with the products of each
  /// third one and the one behind it, of which `behind` are there. Over a period
  /// they fall into lanes of their own.
  Value scaleGroup(Value column, int64_t count, int64_t behind, Value sum) {
    Value first = b.splat(0), second = first;
    for (int64_t i = 0; i < count; i += b.lanes()) {
      Value at = b.add(column, i);
      int64_t here = std::min(b.lanes(), count - i);
      Value v = b.mulf(load(at, here), factor);
      b.storeVector(v, rows, {row, b.add(at, winograd::kStep)}, here);
      if (int64_t next = std::min(b.lanes(), behind - i); next > 0) {
        Value begins = lanesWhere<bool>([&](int64_t lane) { return (i + lane) % period == 0; });
        first = b.select(begins, v, first);
        second = b.select(begins, b.mulf(load(b.add(at, 1), next), factor), second);
      }
    }
    // Pairs that are subtracted begin at even k.
    Value signs = lanesWhere<float>([](int64_t lane) { return lane % 2 ? 1.0f : -1.0f; });
    auto extend = [&](Value of) -> Value { return arith::ExtFOp::create(b, sum.getType(), of); };
    return b.addf(sum, b.mulf(extend(b.mulf(first, signs)), extend(second))); // an exact product
  }

  template <typename T> Value lanesWhere(function_ref<T(int64_t)> value) {
    SmallVector<T> values;
    for (int64_t lane = 0; lane < b.lanes(); ++lane)
      values.push_back(value(lane));
    Type element = std::is_same_v<T, bool> ? Type(b.getI1Type()) : b.getF32Type();
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(b.vectorType().clone(element), ArrayRef<T>(values)));
  }

  Emit &b;
  Value x, scales, rows, inverses, row, factor;
  int64_t k;
};

} // namespace

void transformer::scaleWinogradPanel(Emit &b, Value panels, Value at, int64_t k,
                                     ValueRange squares) {
  for (auto [i, sum] : llvm::enumerate(squares))
    PanelScaler(b, panels, at, b.index(i * b.lanes()), k).emit(sum);
}

void transformer::emitNest(Emit &b, cpu::WinogradRowsOp op) {
  Value x = op.getX(), inverses = op.getOuts()[1], count = b.dim(x, 0);
  Value rows = memref::CollapseShapeOp::create(b, op.getOuts()[0],
                                               ArrayRef<ReassociationIndices>{{0}, {1, 2}});
  int64_t width = rowWidth(x), size = Emit::itemsPerTask(width);
  Work work = rowWork("winograd_rows", "tokens", width, 2);
  b.parallel(work, count, b.ceilDiv(count, size), [&](Value task) {
    auto [lower, upper] = taskRange(b, task, size, count);
    RowScaler scaler(b, x, op.getScales(), rows, inverses);
    b.forEach(lower, upper, 1, [&](Value row) { scaler.emit(row); });
  });
}
