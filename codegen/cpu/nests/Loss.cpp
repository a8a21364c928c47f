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

/// The largest score of a row, and the sum of e^(score - it); `store` gets these powers.
std::pair<Value, Value> softmaxOf(Emit &b, Value logits, Value row, int64_t classes,
                                  StoreVector store = {}) {
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
    if (store)
      store(e, column, lanes);
    if (lanes < b.lanes())
      e = b.select(b.lanesBelow(lanes), e, b.splat(0));
    return b.addf(accumulator, e);
  });
  return {most, sum};
}

/// What the loss of a row needs of its scores, whose place may be written afterwards.
class RowLoss {
public:
  template <typename OpTy>
  RowLoss(Emit &b, OpTy op, Labels &labels, Value row)
      : b(b), smoothing(op.getLabelSmoothing().convertToDouble()) {
    Value logits = op.getLogits();
    int64_t classes = rowWidth(logits);
    ofLabel = b.load(logits, {row, labels.of(row)});
    if (smoothing > 0)
      mean = b.divf(sumRow(b, classes,
                           [&](Value column, int64_t lanes, Value accumulator) {
                             return b.addf(accumulator, b.loadVector(logits, {row, column}, lanes));
                           }),
                    b.scalar(classes));
  }

  Value of(Value most, Value sum) {
    Value logSum = b.addf(most, math::LogOp::create(b, sum)), loss = b.subf(logSum, ofLabel);
    if (!mean)
      return loss;
    return b.addf(b.mulf(b.scalar(1 - smoothing), loss),
                  b.mulf(b.scalar(smoothing), b.subf(logSum, mean)));
  }

private:
  Emit &b;
  double smoothing;
  Value ofLabel, mean; // mean: of all scores; null without smoothing
};

void storeMean(Emit &b, Labels &labels, Value losses, Value loss) {
  Value mean = b.divf(sumElements(b, losses), labels.count());
  b.store(arith::TruncFOp::create(b, b.getF32Type(), mean), loss, {});
}

} // namespace

void transformer::emitNest(Emit &b, kernel::CrossEntropyOp op) {
  Value logits = op.getLogits(), losses = op.getOuts()[1];
  Value softmax = op.getOuts().size() > 2 ? op.getOuts()[2] : Value();
  int64_t classes = rowWidth(logits);
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
      RowLoss loss(b, op, labels, row);
      auto [most, sum] = softmaxOf(b, logits, row, classes);
      storeSoftmax(most, sum);
      b.store(loss.of(most, sum), losses, row);
    });
  });
  storeMean(b, labels, losses, op.getOuts()[0]);
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

namespace {

class CrossEntropyGradient {
public:
  CrossEntropyGradient(Emit &b, kernel::CrossEntropyGradientOp op)
      : b(b), op(op), logits(op.getLogits()), result(op.getOuts()[0]), softmax(op.getSoftmax()),
        losses(op.getOuts().size() > 1 ? op.getOuts()[2] : Value()), classes(rowWidth(logits)),
        smoothing(op.getLabelSmoothing().convertToDouble()), labels(b, op) {}

  void emit() {
    Value dloss = arith::ExtFOp::create(b, b.getF64Type(), b.load(op.getDloss(), {}));
    share = arith::TruncFOp::create(b, b.getF32Type(), b.divf(dloss, labels.count()));
    Value rows = b.dim(logits, 0);
    b.parallel(rowWork("cross_entropy_gradient", "tokens", classes, 3), rows, rows, [&](Value row) {
      Value powers = placeOfPowers();
      b.ifElse(
          labels.counts(row), {}, [&] { return emitRow(row, powers); },
          [&] { return emitIgnored(row); });
    });
    if (losses)
      storeMean(b, labels, losses, op.getOuts()[1]);
  }

private:
  /// Where a row's powers of e wait for their sum, so that they are computed once: where its
  /// gradient goes, or in a row of the task's own, unless that would fill its caches. Null: they
  /// are computed again.
  Value placeOfPowers() {
    if (softmax)
      return {};
    if (!areWords(result))
      return result;
    bool fits = 2 * rowBytes(classes) <= b.target.getL2Bytes();
    return fits ? b.stackBuffer({1, classes}) : Value();
  }

  Values emitRow(Value row, Value powers) {
    std::optional<RowLoss> loss;
    if (losses)
      loss.emplace(b, op, labels, row);
    Value at = powers == result ? row : b.index(0);
    auto keep = [&](Value e, Value column, int64_t lanes) {
      b.storeVector(e, powers, {at, column}, lanes);
    };
    auto [most, sum] =
        softmax ? std::pair(b.load(softmax, {row, b.index(0)}), b.load(softmax, {row, b.index(1)}))
                : softmaxOf(b, logits, row, classes, powers ? StoreVector(keep) : StoreVector());
    if (loss)
      b.store(loss->of(most, sum), losses, row);
    Value shift = b.broadcast(most), factor = b.broadcast(b.divf(share, sum));
    Value others = b.broadcast(b.mulf(share, b.scalar(smoothing / classes)));
    Value ofLabel = b.broadcast(b.mulf(share, b.scalar(1 - smoothing))), label = labels.of(row);
    sweepRow(b, classes, {}, [&](Value column, int64_t lanes, Value) {
      Value e = powers ? b.loadVector(powers, {at, column}, lanes)
                       : emitExp(b, b.subf(b.loadVector(logits, {row, column}, lanes), shift))[0];
      Value p = b.mulf(e, factor);
      if (smoothing > 0)
        p = b.subf(p, others);
      p = b.select(b.laneEqual(b.sub(label, column)), b.subf(p, ofLabel), p);
      storeColumns(b, p, result, row, column, lanes);
      return Value();
    });
    return {};
  }

  Values emitIgnored(Value row) {
    if (losses)
      b.store(b.scalar(0), losses, row);
    sweepRow(b, classes, {}, [&](Value column, int64_t lanes, Value) {
      storeColumns(b, b.splat(0), result, row, column, lanes);
      return Value();
    });
    return {};
  }

  Emit &b;
  kernel::CrossEntropyGradientOp op;
  Value logits, result;
  Value softmax, losses; // null: not given, not asked for
  int64_t classes;
  double smoothing;
  Labels labels;
  Value share; // of a label that counts, in the mean
};

} // namespace

void transformer::emitNest(Emit &b, kernel::CrossEntropyGradientOp op) {
  CrossEntropyGradient(b, op).emit();
}
