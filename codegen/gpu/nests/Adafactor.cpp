//===- Adafactor.cpp - one step of Adafactor ------------------------------===//
//
// The update needs its own root mean square, so it is computed twice instead of stored.
//
//===----------------------------------------------------------------------===//
#include "codegen/gpu/nests/Kernels.h"
#include "codegen/gpu/nests/Sums.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

namespace {

class AdafactorUpdate {
public:
  AdafactorUpdate(Loops &b, kernel::AdafactorUpdateOp op)
      : b(b), op(op), gradient(op.getGradient()), parameter(op.getOuts()[0]),
        moments(op.getOuts().drop_front().drop_back()), width(rowWidth(parameter)),
        rows(cast<MemRefType>(op.getOuts().back().getType()).getDimSize(0)) {}

  void emit() {
    isFactored() ? updateMoments() : updateVariance();
    Value squares = sumOfAllNumbers([&](ValueRange at) {
      Value p = b.load(parameter, at);
      return b.mulf(p, p);
    });
    Value rowVariances;
    if (isFactored())
      rowVariances = sumOfAll(
          b, b.index(rows),
          [&](Value row) { return b.widen(b.load(moments[0], {row, b.index(0)})); }, rows);
    // What all threads share: the mean of the rows' variances, later the size of a step.
    shared = b.buffer({2}, b.getF32Type());
    b.once([&] {
      Value mean = b.scalar(1);
      if (isFactored())
        mean = b.maxf(b.narrow(op.getEps1()), b.narrow(meanOf(rowVariances, rows)));
      b.store(mean, shared, b.index(0));
    });
    Value updates = sumOfAllNumbers([&](ValueRange at) {
      Value g = scaledGradient(at);
      return b.divf(b.mulf(g, g), variance(at));
    });
    b.once([&] {
      auto root = [&](Value v) -> Value { return math::SqrtOp::create(b, v); };
      Value size = root(meanOf(squares, rows * width));
      size = b.mulf(op.getRate(), b.maxf(op.getEps2(), size));
      Value excess = b.divf(root(meanOf(updates, rows * width)), op.getClipThreshold());
      b.store(b.narrow(b.divf(size, b.maxf(b.real(1), excess))), shared, b.index(1));
    });
    b.threads(sizes(), [&](ValueRange at) {
      Value root = math::SqrtOp::create(b, variance(at));
      Value update = b.divf(scaledGradient(at), root);
      Value p = b.mulf(op.getShrink(), b.load(parameter, at));
      Value size = b.load(shared, b.index(1));
      b.store(b.subf(p, b.mulf(size, update)), parameter, at);
    });
  }

private:
  bool isFactored() const { return moments.size() == 2; }

  Values sizes() {
    Values all = {b.index(rows), b.index(width)};
    return isFactored() ? all : Values{all[1]};
  }

  /// Of `term` of each of the weight's numbers, added in f64.
  Value sumOfAllNumbers(function_ref<Value(ValueRange at)> term) {
    return sumOfAll(
        b, b.index(rows * width),
        [&](Value i) {
          Values at = {b.div(i, width), b.rem(i, width)};
          return b.widen(term(isFactored() ? at : Values{i}));
        },
        rows * width);
  }

  Value meanOf(Value sum, int64_t count) {
    return b.divf(b.load(sum, b.index(0)), b.real(double(count)));
  }

  Value scaledGradient(ValueRange at) { return b.mulf(b.load(gradient, at), op.getScale()); }

  /// A moment that takes in new squares.
  void blend(Value moment, ValueRange at, Value squares) {
    Value kept = b.mulf(op.getKeep(), b.load(moment, at));
    b.store(b.addf(kept, b.mulf(op.getShare(), squares)), moment, at);
  }

  void updateVariance() {
    b.threads(sizes(), [&](ValueRange at) {
      Value g = scaledGradient(at);
      blend(moments[0], at, b.mulf(g, g));
    });
  }

  void updateMoments() {
    b.threads(b.index(rows), [&](ValueRange at) {
      Value sum = b.sum(width, [&](Value column) {
        Value g = scaledGradient({at[0], column});
        return b.mulf(g, g);
      });
      blend(moments[0], {at[0], b.index(0)}, b.divf(sum, b.scalar(double(width))));
    });
    sumOverRows(
        b, b.index(rows), width, 1,
        [&](Value row, Value column) {
          Value g = scaledGradient({row, column});
          return Values{b.widen(b.mulf(g, g))};
        },
        [&](ValueRange sums, Value column) {
          Value squares = b.narrow(b.divf(sums[0], b.real(double(rows))));
          blend(moments[1], {b.index(0), column}, squares);
        });
  }

  /// At least eps1 squared.
  Value variance(ValueRange at) {
    Value v;
    if (isFactored()) {
      Value ofRow = b.load(moments[0], {at[0], b.index(0)});
      Value factor = b.divf(ofRow, b.load(shared, b.index(0)));
      v = b.mulf(factor, b.load(moments[1], {b.index(0), at[1]}));
    } else {
      v = b.load(moments[0], at);
    }
    return b.maxf(b.narrow(b.mulf(op.getEps1(), op.getEps1())), v);
  }

  Loops &b;
  kernel::AdafactorUpdateOp op;
  Value gradient, parameter;
  ValueRange moments;
  int64_t width, rows;
  Value shared;
};

} // namespace

void transformer::simt::emitKernel(Loops &b, kernel::AdafactorUpdateOp op) {
  AdafactorUpdate(b, op).emit();
}
