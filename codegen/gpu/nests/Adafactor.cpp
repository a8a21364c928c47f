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
        isFactored(cast<MemRefType>(gradient.getType()).getRank() == 2),
        moments(op.getOuts().slice(1, isFactored ? 2 : 1)), width(rowWidth(parameter)),
        rows(cast<MemRefType>(op.getOuts().back().getType()).getDimSize(0)),
        matrices(isFactored ? cast<MemRefType>(moments[1].getType()).getDimSize(0) : 1) {}

  void emit() {
    isFactored ? updateMoments() : updateVariance();
    Value squares = sumOfAllNumbers([&](ValueRange at) {
      Value p = b.load(parameter, at);
      return b.mulf(p, p);
    });
    Value updates = sumOfAllNumbers([&](ValueRange at) {
      Value g = scaledGradient(at);
      return b.divf(b.mulf(g, g), variance(at));
    });
    Value sizeOfStep = b.buffer({1}, b.getF32Type());
    b.once([&] {
      auto root = [&](Value v) -> Value { return math::SqrtOp::create(b, v); };
      Value size = root(meanOf(squares, rows * width));
      size = b.mulf(op.getRate(), b.maxf(op.getEps2(), size));
      Value excess = b.divf(root(meanOf(updates, rows * width)), op.getClipThreshold());
      b.store(b.narrow(b.divf(size, b.maxf(b.real(1), excess))), sizeOfStep, b.index(0));
    });
    b.threads(sizes(), [&](ValueRange at) {
      Value root = math::SqrtOp::create(b, variance(at));
      Value update = b.divf(scaledGradient(at), root);
      Value p = b.mulf(op.getShrink(), b.load(parameter, at));
      Value size = b.load(sizeOfStep, b.index(0));
      b.store(b.subf(p, b.mulf(size, update)), parameter, at);
    });
  }

private:
  Values sizes() {
    Values all = {b.index(rows), b.index(width)};
    return isFactored ? all : Values{all[1]};
  }

  /// Of `term` of each of the weight's numbers, added in f64.
  Value sumOfAllNumbers(function_ref<Value(ValueRange at)> term) {
    return sumOfAll(
        b, b.index(rows * width),
        [&](Value i) {
          Values at = {b.div(i, width), b.rem(i, width)};
          return b.widen(term(isFactored ? at : Values{i}));
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
    matrices == 1 ? updateColumns() : updateColumnsOfEach();
  }

  Value squareAt(Value row, Value column) {
    Value g = scaledGradient({row, column});
    return b.widen(b.mulf(g, g));
  }
  Value rowVariance(Value row) { return b.widen(b.load(moments[0], {row, b.index(0)})); }

  void updateColumns() {
    Value zero = b.index(0);
    sumOverRows(
        b, b.index(rows), width, 1,
        [&](Value row, Value column) { return Values{squareAt(row, column)}; },
        [&](ValueRange sums, Value column) { blendColumn(zero, column, sums[0]); });
    sumOfAll(
        b, b.index(rows), [&](Value row) { return rowVariance(row); }, rows,
        [&](Value sum) { storeMean(zero, sum); });
  }
  void updateColumnsOfEach() {
    /// Over the rows of a matrix, one after the other.
    auto sumOf = [&](Value matrix, function_ref<Value(Value row)> term) {
      Value first = b.mul(matrix, b.index(rowsOfMatrix())),
            end = b.add(first, b.index(rowsOfMatrix()));
      return b.loop(first, end, b.real(0), [&](Value row, ValueRange before) {
        return Values{b.addf(before[0], term(row))};
      })[0];
    };
    b.threads({b.index(matrices), b.index(width)}, [&](ValueRange at) {
      Value sum = sumOf(at[0], [&](Value row) { return squareAt(row, at[1]); });
      blendColumn(at[0], at[1], sum);
    });
    b.threads(b.index(matrices), [&](ValueRange at) {
      storeMean(at[0], sumOf(at[0], [&](Value row) { return rowVariance(row); }));
    });
  }

  int64_t rowsOfMatrix() const { return rows / matrices; }
  Value meanOfRows(Value sum) { return b.narrow(b.divf(sum, b.real(double(rowsOfMatrix())))); }
  void blendColumn(Value matrix, Value column, Value sum) {
    blend(moments[1], {matrix, column}, meanOfRows(sum));
  }
  /// Of the variances of a matrix' rows, at least eps1.
  Value means() { return op.getOuts()[3]; }
  void storeMean(Value matrix, Value sum) {
    b.store(b.maxf(b.narrow(op.getEps1()), meanOfRows(sum)), means(), matrix);
  }

  /// At least eps1 squared.
  Value variance(ValueRange at) {
    Value v;
    if (isFactored) {
      Value matrix = matrices == 1 ? b.index(0) : b.div(at[0], b.index(rowsOfMatrix()));
      Value ofRow = b.load(moments[0], {at[0], b.index(0)});
      Value factor = b.divf(ofRow, b.load(means(), matrix));
      v = b.mulf(factor, b.load(moments[1], {matrix, at[1]}));
    } else {
      v = b.load(moments[0], at);
    }
    return b.maxf(b.narrow(b.mulf(op.getEps1(), op.getEps1())), v);
  }

  Loops &b;
  kernel::AdafactorUpdateOp op;
  Value gradient, parameter;
  bool isFactored; // of matrices, one below the other, or a vector
  ValueRange moments;
  int64_t width, rows, matrices;
};

} // namespace

void transformer::simt::emitKernel(Loops &b, kernel::AdafactorUpdateOp op) {
  AdafactorUpdate(b, op).emit();
}
