//===- Loss.cpp - labels, cross-entropy and its backward ------------------===//
#include "codegen/cpu/nests/Bfloat16.h"
#include "codegen/cpu/nests/ColumnSums.h"
#include "codegen/cpu/nests/NestEmitters.h"
#include "codegen/cpu/nests/NestWork.h"
#include "codegen/cpu/nests/Rows.h"
#include "codegen/math/VectorMath.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace mlir::transformer;

void transformer::emitNest(Emit &b, kernel::ShiftLabelsOp op) {
  Value labels = op.getLabels(), result = op.getOuts()[0];
  Value ignored = arith::ConstantIntOp::create(b, op.getIgnoreIndex(), 64);
  Value last = b.sub(b.dim(labels, 1), b.index(1)), zero = b.index(0);
  b.forEach(zero, b.dim(labels, 0), 1, [&](Value row) {
    b.forEach(zero, last, 1, [&](Value column) {
      b.store(b.load(labels, {row, b.add(column, 1)}), result, {row, column});
    });
    b.store(ignored, result, {row, last});
  });
}

namespace {

/// The labels of a loss.
class Labels {
public:
  template <typename OpTy> Labels(Emit &b, OpTy op) : b(b), labels(op.getLabels()) {
    ignored.push_back(constant(op.getIgnoreIndex()));
    if (auto padding = op.getPaddingIndex())
      ignored.push_back(constant(*padding));
  }

  Value of(Value row) {
    return arith::IndexCastOp::create(b, b.getIndexType(), b.load(labels, row));
  }
  Value counts(Value row) {
    Value label = b.load(labels, row), result;
    for (Value other : ignored) {
      Value differs = b.compare(arith::CmpIPredicate::ne, label, other);
      result = result ? b.both(result, differs) : differs;
    }
    return result;
  }
  /// How many count.
  Value number() {
    Value one = constant(1), none = constant(0);
    return b.loop(b.index(0), b.dim(labels, 0), 1, none, [&](Value row, ValueRange sum) {
      return Values{b.add(sum[0], b.select(counts(row), one, none))};
    })[0];
  }
  /// The same, at least 1, as f64.
  Value count() { return arith::SIToFPOp::create(b, b.getF64Type(), b.max(number(), constant(1))); }

private:
  Value constant(int64_t value) { return arith::ConstantIntOp::create(b, value, 64); }

  Emit &b;
  Value labels;
  Values ignored;
};

/// The largest score of a row, and the sum of e^(score - it).
std::pair<Value, Value> softmaxOf(Emit &b, Value logits, Value row, int64_t classes) {
  Value lowest = b.splat(-std::numeric_limits<float>::infinity());
  Values best(sweepUnroll, lowest);
  best = sweepRow(b, classes, best, [&](Value column, int64_t lanes, Value most) {
    Value x = b.loadVector(logits, {row, column}, lanes);
    if (lanes < b.lanes())
      x = b.select(b.lanesBelow(lanes), x, lowest);
    return emitMax(b, most, x);
  });
  Value most = best[0];
  for (Value other : ArrayRef(best).drop_front())
    most = emitMax(b, most, other);
  most = b.maxLane(most);
  Value shift = b.broadcast(most);
  Value sum = sumRow(b, classes, [&](Value column, int64_t lanes, Value accumulator) {
    Value x = b.loadVector(logits, {row, column}, lanes);
    Value e = emitExp(b, b.subf(x, shift))[0];
    if (lanes < b.lanes())
      e = b.select(b.lanesBelow(lanes), e, b.splat(0));
    return b.addf(accumulator, e);
  });
  return {most, sum};
}

} // namespace

void transformer::emitNest(Emit &b, kernel::CrossEntropyOp op) {
  Value logits = op.getLogits(), loss = op.getOuts()[0], losses = op.getOuts()[1];
  Value softmax = op.getOuts().size() > 2 ? op.getOuts()[2] : Value();
  int64_t classes = rowWidth(logits);
  double smoothing = op.getLabelSmoothing().convertToDouble();
  Labels labels(b, op);
  Value rows = b.dim(logits, 0), zero = b.scalar(0);
  b.parallel(rowWork("cross_entropy", "tokens", classes, 2), rows, rows, [&](Value row) {
    auto storeSoftmax = [&](Value most, Value sum) {
      if (!softmax)
        return;
      b.store(most, softmax, {row, b.index(0)});
      b.store(sum, softmax, {row, b.index(1)});
    };
    b.store(zero, losses, row);
    storeSoftmax(zero, b.scalar(1));
    b.ifThen(labels.counts(row), [&] {
      auto [most, sum] = softmaxOf(b, logits, row, classes);
      storeSoftmax(most, sum);
      Value logSum = b.addf(most, math::LogOp::create(b, sum));
      Value of = b.subf(logSum, b.load(logits, {row, labels.of(row)}));
      if (smoothing > 0) {
        Value all = sumRow(b, classes, [&](Value column, int64_t lanes, Value accumulator) {
          return b.addf(accumulator, b.loadVector(logits, {row, column}, lanes));
        });
        Value mean = b.subf(logSum, b.divf(all, b.scalar(classes)));
        of = b.addf(b.mulf(b.scalar(1 - smoothing), of), b.mulf(b.scalar(smoothing), mean));
      }
      b.store(of, losses, row);
    });
  });
  Value sum = sumElements(b, losses);
  b.store(arith::TruncFOp::create(b, b.getF32Type(), b.divf(sum, labels.count())), loss, {});
}

void transformer::emitNest(Emit &b, kernel::CountLabelsOp op) {
  auto type = cast<MemRefType>(op.getLabels().getType());
  Value number;
  if (type.getElementType().isInteger()) {
    number = Labels(b, op).number();
  } else {
    Value all = b.index(1);
    for (int64_t i = 0; i < type.getRank(); ++i)
      all = b.mul(all, b.dim(op.getLabels(), i));
    number = arith::IndexCastOp::create(b, b.getI64Type(), all);
  }
  b.store(arith::SIToFPOp::create(b, b.getF32Type(), number), op.getOuts()[0], {});
}

void transformer::emitNest(Emit &b, kernel::CrossEntropyGradientOp op) {
  Value logits = op.getLogits(), result = op.getOuts()[0], given = op.getSoftmax();
  int64_t classes = rowWidth(logits);
  double smoothing = op.getLabelSmoothing().convertToDouble();
  Labels labels(b, op);
  Value dloss = arith::ExtFOp::create(b, b.getF64Type(), b.load(op.getDloss(), {}));
  Value share = arith::TruncFOp::create(b, b.getF32Type(), b.divf(dloss, labels.count()));
  Value rows = b.dim(logits, 0);
  b.parallel(rowWork("cross_entropy_gradient", "tokens", classes, 3), rows, rows, [&](Value row) {
    b.ifElse(
        labels.counts(row), {},
        [&] {
          auto [most, sum] =
              given ? std::pair(b.load(given, {row, b.index(0)}), b.load(given, {row, b.index(1)}))
                    : softmaxOf(b, logits, row, classes);
          Value shift = b.broadcast(most), factor = b.broadcast(b.divf(share, sum));
          Value others = b.broadcast(b.mulf(share, b.scalar(smoothing / classes)));
          Value ofLabel = b.broadcast(b.mulf(share, b.scalar(1 - smoothing)));
          Value label = labels.of(row);
          sweepRow(b, classes, {}, [&](Value column, int64_t lanes, Value) {
            Value x = b.loadVector(logits, {row, column}, lanes);
            Value p = b.mulf(emitExp(b, b.subf(x, shift))[0], factor);
            if (smoothing > 0)
              p = b.subf(p, others);
            p = b.select(b.laneEqual(b.sub(label, column)), b.subf(p, ofLabel), p);
            storeColumns(b, p, result, row, column, lanes);
            return Value();
          });
          return Values();
        },
        [&] {
          sweepRow(b, classes, {}, [&](Value column, int64_t lanes, Value) {
            storeColumns(b, b.splat(0), result, row, column, lanes);
            return Value();
          });
          return Values();
        });
  });
}
