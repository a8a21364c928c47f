//===- SpanLoss.cpp - which token of a sequence is meant, and the backward ---===//
#include "codegen/cpu/nests/NestEmitters.h"
#include "codegen/cpu/nests/Rows.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// The sequences of a loss, with one score a token, so one thread goes through them, in f64.
template <typename OpTy> class Spans {
public:
  Spans(Emit &b, OpTy op) : b(b), op(op), sequences(b.dim(op.getPositions(), 0)) {}

  struct Sequence {
    Value first, end;
    Value meant; // the token; `end` where it has none
  };
  struct Softmax {
    Value most, sum; // the largest score, and the sum of e^(score - it)
  };

  Value constant(double v) { return arith::ConstantOp::create(b, b.getF64FloatAttr(v)); }

  Sequence at(Value index) {
    Value first = b.load(op.getCu(), index), end = b.load(op.getCu(), b.add(index, 1));
    Value position = b.load(op.getPositions(), index);
    Value column = b.notNegative(arith::IndexCastOp::create(b, b.getIndexType(), position));
    Values meant = b.loop(first, end, 1, end, [&](Value token, ValueRange found) {
      Value here = b.eq(b.rem(b.load(op.getRows(), token), op.getLength()), column);
      return Values{b.select(here, token, found[0])};
    });
    return {first, end, meant[0]};
  }

  Value counts(const Sequence &sequence) { return b.lt(sequence.meant, sequence.end); }

  /// The sum of what `term` gives for each sequence, in their order.
  Value sum(function_ref<Value(const Sequence &)> term) {
    return b.loop(b.index(0), sequences, 1, constant(0), [&](Value index, ValueRange sum) {
      return Values{b.addf(sum[0], term(at(index)))};
    })[0];
  }

  /// How many count.
  Value number() {
    return sum([&](const Sequence &sequence) {
      return b.select(counts(sequence), constant(1), constant(0));
    });
  }
  Value atLeastOne() { return arith::MaximumFOp::create(b, number(), constant(1)); }

  void forEach(function_ref<void(const Sequence &)> visit) {
    b.forEach(b.index(0), sequences, 1, [&](Value index) { visit(at(index)); });
  }

  Value score(Value token) {
    Value x = b.load(op.getLogits(), {token, b.index(op.getColumn())});
    return arith::ExtFOp::create(b, b.getF64Type(), x);
  }

  Value exp(Value token, Value most) { return math::ExpOp::create(b, b.subf(score(token), most)); }

  Softmax softmax(const Sequence &sequence) {
    Value lowest = constant(-std::numeric_limits<double>::infinity());
    Value most =
        b.loop(sequence.first, sequence.end, 1, lowest, [&](Value token, ValueRange before) {
          return Values{arith::MaximumFOp::create(b, before[0], score(token))};
        })[0];
    Value sum =
        b.loop(sequence.first, sequence.end, 1, constant(0), [&](Value token, ValueRange before) {
          return Values{b.addf(before[0], exp(token, most))};
        })[0];
    return {most, sum};
  }

private:
  Emit &b;
  OpTy op;
  Value sequences;
};

} // namespace

void transformer::emitNest(Emit &b, kernel::CountSpansOp op) {
  Value number = Spans(b, op).number();
  b.store(arith::TruncFOp::create(b, b.getF32Type(), number), op.getOuts()[0], {});
}

void transformer::emitNest(Emit &b, kernel::SpanLossOp op) {
  Spans spans(b, op);
  Value sum = spans.sum([&](const auto &sequence) {
    auto loss = [&] {
      auto [most, sum] = spans.softmax(sequence);
      Value logSum = b.addf(most, math::LogOp::create(b, sum));
      return Values{b.subf(logSum, spans.score(sequence.meant))};
    };
    return b.ifElse(spans.counts(sequence), b.getF64Type(), loss,
                    [&] { return Values{spans.constant(0)}; })[0];
  });
  Value mean = b.divf(sum, spans.atLeastOne());
  b.store(arith::TruncFOp::create(b, b.getF32Type(), mean), op.getOuts()[0], {});
}

void transformer::emitNest(Emit &b, kernel::SpanLossGradientOp op) {
  Spans spans(b, op);
  Value result = op.getOuts()[0];
  Value dloss = arith::ExtFOp::create(b, b.getF64Type(), b.load(op.getDloss(), {}));
  Value share = b.divf(dloss, spans.atLeastOne());
  spans.forEach([&](const auto &sequence) {
    b.forEach(sequence.first, sequence.end, 1,
              [&](Value token) { zeroRow(b, rowWidth(result), result, token); });
    b.ifThen(spans.counts(sequence), [&] {
      auto [most, sum] = spans.softmax(sequence);
      b.forEach(sequence.first, sequence.end, 1, [&](Value token) {
        Value p = b.divf(spans.exp(token, most), sum);
        Value meant = b.eq(token, sequence.meant);
        Value d = b.subf(p, b.select(meant, spans.constant(1), spans.constant(0)));
        Value dx = arith::TruncFOp::create(b, b.getF32Type(), b.mulf(share, d));
        b.store(dx, result, {token, b.index(op.getColumn())});
      });
    });
  });
}
