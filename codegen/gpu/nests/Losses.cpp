//===- Losses.cpp - labels, cross-entropy and its backward ----------------===//
#include "codegen/gpu/nests/Kernels.h"
#include "codegen/gpu/nests/RowThreads.h"
#include "codegen/gpu/nests/Sums.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

void transformer::simt::emitKernel(Loops &b, kernel::ShiftLabelsOp op) {
  Value labels = op.getLabels(), result = op.getOuts()[0];
  b.threads({b.dim(labels, 0), b.dim(labels, 1)}, [&](ValueRange at) {
    Value last = b.sub(b.dim(labels, 1), b.index(1)), next = b.min(b.add(at[1], 1), last);
    Value label = b.load(labels, {at[0], next});
    Value isLast = b.equal(at[1], last);
    b.store(b.select(isLast, b.integer(op.getIgnoreIndex()), label), result, at);
  });
}

namespace {

/// Whether the label of a row counts.
template <typename OpTy> Value counts(Loops &b, OpTy op, Value row) {
  Value label = b.load(op.getLabels(), row);
  Value result = b.differ(label, b.integer(op.getIgnoreIndex()));
  if (auto padding = op.getPaddingIndex())
    result = b.both(result, b.differ(label, b.integer(*padding)));
  return result;
}

/// How many count, in a buffer of one f64.
template <typename OpTy> Value numberOfLabels(Loops &b, OpTy op) {
  return sumOfAll(b, b.dim(op.getLabels(), 0),
                  [&](Value row) { return b.select(counts(b, op, row), b.real(1), b.real(0)); });
}

/// The number in a buffer, at least 1.
Value atLeastOne(Loops &b, Value buffer) { return b.maxf(b.load(buffer, b.index(0)), b.real(1)); }

/// The largest score of a row, and the sum of e^(score - it).
std::pair<Value, Value> softmaxOf(Loops &b, Value logits, Value row, RowThreads &threads) {
  int64_t classes = rowWidth(logits);
  auto score = [&](Value column) { return b.load(logits, {row, column}); };
  Value most = threads.max(classes, score);
  Value sum = threads.sum(classes, [&](Value column) -> Value {
    return math::ExpOp::create(b, b.subf(score(column), most));
  });
  return {most, sum};
}

/// The losses of the rows and their softmax, either of which may be null: of a row that does not
/// count 0, and 0 and 1.
template <typename OpTy> void emitRowLosses(Loops &b, OpTy op, Value losses, Value softmax) {
  Value logits = op.getLogits();
  int64_t classes = rowWidth(logits);
  double smoothing = op.getLabelSmoothing().convertToDouble();
  rows(b, b.dim(logits, 0), classes, [&](ValueRange at, RowThreads &threads) {
    Value row = at[0];
    auto store = [&](Value loss, Value most, Value sum) {
      if (losses)
        b.store(loss, losses, row);
      if (!softmax)
        return;
      b.store(most, softmax, {row, b.index(0)});
      b.store(sum, softmax, {row, b.index(1)});
    };
    threads.once([&] { store(b.scalar(0), b.scalar(0), b.scalar(1)); });
    b.ifThen(counts(b, op, row), [&] {
      auto [most, sum] = softmaxOf(b, logits, row, threads);
      Value logSum = b.addf(most, math::LogOp::create(b, sum));
      Value of = b.subf(logSum, b.load(logits, {row, b.loadIndex(op.getLabels(), row)}));
      if (smoothing > 0) {
        Value all =
            threads.sum(classes, [&](Value column) { return b.load(logits, {row, column}); });
        Value mean = b.subf(logSum, b.divf(all, b.scalar(double(classes))));
        of = b.addf(b.mulf(b.scalar(1 - smoothing), of), b.mulf(b.scalar(smoothing), mean));
      }
      threads.once([&, most = most, sum = sum] { store(of, most, sum); });
    });
  });
}

/// The mean of losses of which `number` count.
void storeMean(Loops &b, Value losses, Value number, Value loss) {
  Value sum =
      sumOfAll(b, b.dim(losses, 0), [&](Value row) { return b.widen(b.load(losses, row)); });
  b.once([&] {
    Value mean = b.divf(b.load(sum, b.index(0)), atLeastOne(b, number));
    b.store(b.narrow(mean), loss, {});
  });
}

} // namespace

/// Of each row, then the mean of all.
void transformer::simt::emitKernel(Loops &b, kernel::CrossEntropyOp op) {
  Value losses = op.getOuts()[1];
  emitRowLosses(b, op, losses, op.getOuts().size() == 3 ? op.getOuts()[2] : Value());
  storeMean(b, losses, numberOfLabels(b, op), op.getOuts()[0]);
}

/// What a row's numbers share, then a thread a number.
void transformer::simt::emitKernel(Loops &b, kernel::CrossEntropyGradientOp op) {
  Value logits = op.getLogits(), result = op.getOuts()[0], count = b.dim(logits, 0);
  int64_t classes = rowWidth(logits);
  double smoothing = op.getLabelSmoothing().convertToDouble();
  Value number = numberOfLabels(b, op);
  Value shares = b.buffer({1}, b.getF32Type());
  b.once([&] {
    Value dloss = b.widen(b.load(op.getDloss(), {}));
    b.store(b.narrow(b.divf(dloss, atLeastOne(b, number))), shares, b.index(0));
  });
  Value softmax = op.getSoftmax();
  if (!softmax) {
    Value losses = op.getOuts().size() > 1 ? op.getOuts()[2] : Value();
    softmax = b.buffer({ShapedType::kDynamic, 2}, b.getF32Type(), count);
    emitRowLosses(b, op, losses, softmax);
    if (losses)
      storeMean(b, losses, number, op.getOuts()[1]);
  }
  // A thread's numbers are far apart, so that neighbours have neighbours.
  constexpr int64_t ofThread = 4;
  int64_t apart = llvm::divideCeil(classes, ofThread);
  b.threads({count, b.index(apart)}, [&](ValueRange at) {
    Value row = at[0], share = b.load(shares, b.index(0));
    Value most = b.load(softmax, {row, b.index(0)});
    Value factor = b.divf(share, b.load(softmax, {row, b.index(1)}));
    Value label = b.loadIndex(op.getLabels(), row), isCounted = counts(b, op, row);
    auto emitAt = [&](Value column) {
      Values place = {row, column};
      Value exponential = math::ExpOp::create(b, b.subf(b.load(logits, place), most));
      Value d = b.mulf(exponential, factor);
      if (smoothing > 0)
        d = b.subf(d, b.mulf(share, b.scalar(smoothing / double(classes))));
      d = b.select(b.equal(column, label), b.subf(d, b.mulf(share, b.scalar(1 - smoothing))), d);
      b.store(b.select(isCounted, d, b.scalar(0)), result, place);
    };
    for (int64_t i = 0; i < ofThread; ++i) {
      Value column = b.add(at[1], i * apart);
      if ((i + 1) * apart <= classes)
        emitAt(column);
      else
        b.ifThen(b.less(column, b.index(classes)), [&] { emitAt(column); });
    }
  });
}

void transformer::simt::emitKernel(Loops &b, kernel::CountLabelsOp op) {
  Value labels = op.getLabels(), result = op.getOuts()[0];
  auto type = cast<MemRefType>(labels.getType());
  if (type.getElementType().isInteger()) {
    Value number = numberOfLabels(b, op);
    b.once([&] { b.store(b.narrow(b.load(number, b.index(0))), result, {}); });
    return;
  }
  Value all = b.index(1);
  for (int64_t i = 0; i < type.getRank(); ++i)
    all = b.mul(all, b.dim(labels, i));
  b.once([&] { b.store(b.narrow(b.toReal(all)), result, {}); });
}

namespace {

/// A number, its label, and how many there are, in f64.
template <typename OpTy> struct Numbers {
  Loops &b;
  OpTy op;

  int64_t width() { return rowWidth(op.getX()); }
  Value all() { return b.mul(b.dim(op.getX(), 0), width()); }
  Value x(ValueRange at) { return b.widen(b.load(op.getX(), at)); }
  Value label(ValueRange at) {
    Value labels = op.getLabels(); // one label a row may be a vector's
    Value v = b.load(labels, at.take_front(cast<MemRefType>(labels.getType()).getRank()));
    return v.getType().isInteger() ? b.toReal(v) : b.widen(v);
  }
};

} // namespace

void transformer::simt::emitKernel(Loops &b, kernel::ElementLossOp op) {
  Numbers<kernel::ElementLossOp> numbers{b, op};
  Value sum = sumOfAll(b, numbers.all(), [&](Value i) -> Value {
    Values at = {b.div(i, numbers.width()), b.rem(i, numbers.width())};
    Value x = numbers.x(at), y = numbers.label(at);
    if (op.getKind() == LossKind::Squared) {
      Value difference = b.subf(x, y);
      return b.mulf(difference, difference);
    }
    Value none = b.real(0), one = b.real(1), negative = arith::NegFOp::create(b, x);
    Value small = math::ExpOp::create(b, arith::MinimumFOp::create(b, x, negative));
    Value rest = math::LogOp::create(b, b.addf(one, small));
    return b.addf(b.subf(b.maxf(x, none), b.mulf(x, y)), rest);
  });
  b.once([&] {
    Value count = b.maxf(b.toReal(numbers.all()), b.real(1));
    b.store(b.narrow(b.divf(b.load(sum, b.index(0)), count)), op.getOuts()[0], {});
  });
}

void transformer::simt::emitKernel(Loops &b, kernel::ElementLossGradientOp op) {
  Numbers<kernel::ElementLossGradientOp> numbers{b, op};
  b.threads({b.dim(op.getX(), 0), b.index(numbers.width())}, [&](ValueRange at) {
    Value x = numbers.x(at), y = numbers.label(at), slope;
    Value share = b.divf(b.widen(b.load(op.getDloss(), {})), b.toReal(numbers.all()));
    if (op.getKind() == LossKind::Squared) {
      slope = b.mulf(b.real(2), b.subf(x, y));
    } else {
      Value e = math::ExpOp::create(b, arith::NegFOp::create(b, x));
      slope = b.subf(b.divf(b.real(1), b.addf(b.real(1), e)), y);
    }
    b.store(b.narrow(b.mulf(share, slope)), op.getOuts()[0], at);
  });
}
