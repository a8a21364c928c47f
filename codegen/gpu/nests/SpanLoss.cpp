//===- SpanLoss.cpp - which token of a sequence is meant, and the backward ---===//
#include "codegen/gpu/nests/Kernels.h"
#include "codegen/gpu/nests/Sums.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

namespace {

/// A sequence of a loss, in f64.
template <typename OpTy> struct Span {
  Loops &b;
  OpTy op;
  Value first, end;
  Value meant; // the token; `end` where it has none

  Span(Loops &b, OpTy op, Value sequence) : b(b), op(op) {
    first = b.load(op.getCu(), sequence);
    end = b.load(op.getCu(), b.add(sequence, 1));
    Value position = b.max(b.loadIndex(op.getPositions(), sequence), b.index(0));
    meant = b.loop(first, end, end, [&](Value token, ValueRange found) {
      Value column = b.rem(b.load(op.getRows(), token), op.getLength());
      return Values{b.select(b.equal(column, position), token, found[0])};
    })[0];
  }

  Value counts() { return b.less(meant, end); }

  Value score(Value token) {
    return b.widen(b.load(op.getLogits(), {token, b.index(op.getColumn())}));
  }

  Value exp(Value token, Value most) { return math::ExpOp::create(b, b.subf(score(token), most)); }

  /// The largest score, and the sum of e^(score - it).
  std::pair<Value, Value> softmax() {
    Value lowest = b.real(-std::numeric_limits<double>::infinity());
    Value most = b.loop(first, end, lowest, [&](Value token, ValueRange before) {
      return Values{b.maxf(before[0], score(token))};
    })[0];
    Value sum = b.loop(first, end, b.real(0), [&](Value token, ValueRange before) {
      return Values{b.addf(before[0], exp(token, most))};
    })[0];
    return {most, sum};
  }
};

/// How many sequences count, in a buffer of one f64.
template <typename OpTy> Value numberOfSpans(Loops &b, OpTy op) {
  return sumOfAll(b, b.dim(op.getPositions(), 0), [&](Value sequence) {
    return b.select(Span<OpTy>(b, op, sequence).counts(), b.real(1), b.real(0));
  });
}

Value atLeastOne(Loops &b, Value buffer) { return b.maxf(b.load(buffer, b.index(0)), b.real(1)); }

} // namespace

void transformer::simt::emitKernel(Loops &b, kernel::CountSpansOp op) {
  Value number = numberOfSpans(b, op);
  b.once([&] { b.store(b.narrow(b.load(number, b.index(0))), op.getOuts()[0], {}); });
}

void transformer::simt::emitKernel(Loops &b, kernel::SpanLossOp op) {
  Value sum = sumOfAll(b, b.dim(op.getPositions(), 0), [&](Value sequence) {
    Span<kernel::SpanLossOp> span(b, op, sequence);
    auto loss = [&] {
      auto [most, sum] = span.softmax();
      Value logSum = b.addf(most, math::LogOp::create(b, sum));
      return Values{b.subf(logSum, span.score(span.meant))};
    };
    return b.ifElse(span.counts(), loss, [&] { return Values{b.real(0)}; })[0];
  });
  Value number = numberOfSpans(b, op);
  b.once([&] {
    Value mean = b.divf(b.load(sum, b.index(0)), atLeastOne(b, number));
    b.store(b.narrow(mean), op.getOuts()[0], {});
  });
}

/// What a sequence's tokens share, then a thread a number.
void transformer::simt::emitKernel(Loops &b, kernel::SpanLossGradientOp op) {
  using SpanOf = Span<kernel::SpanLossGradientOp>;
  Value result = op.getOuts()[0], sequences = b.dim(op.getPositions(), 0);
  Value number = numberOfSpans(b, op);
  Value softmax = b.buffer({ShapedType::kDynamic, 2}, b.getF64Type(), sequences);
  Value meant = b.buffer({ShapedType::kDynamic}, b.getIndexType(), sequences);
  b.threads(sequences, [&](ValueRange at) {
    SpanOf span(b, op, at[0]);
    auto [most, sum] = span.softmax();
    b.store(most, softmax, {at[0], b.index(0)});
    b.store(sum, softmax, {at[0], b.index(1)});
    b.store(span.meant, meant, at[0]);
  });
  b.threads({b.dim(result, 0), b.index(rowWidth(result))}, [&](ValueRange at) {
    Value token = at[0], sequence = sequenceOf(b, op.getCu(), token);
    Value end = b.load(op.getCu(), b.add(sequence, 1)), which = b.load(meant, sequence);
    Value score = b.widen(b.load(op.getLogits(), {token, b.index(op.getColumn())}));
    Value e = math::ExpOp::create(b, b.subf(score, b.load(softmax, {sequence, b.index(0)})));
    Value p = b.divf(e, b.load(softmax, {sequence, b.index(1)}));
    Value share = b.divf(b.widen(b.load(op.getDloss(), {})), atLeastOne(b, number));
    Value d = b.subf(p, b.select(b.equal(token, which), b.real(1), b.real(0)));
    Value reads = b.both(b.equal(at[1], b.index(op.getColumn())), b.less(which, end));
    b.store(b.select(reads, b.narrow(b.mulf(share, d)), b.scalar(0)), result, at);
  });
}
