//===- LabelledTokens.cpp - the tokens that a loss is about ---------------===//
#include "codegen/cpu/nests/NestEmitters.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Walks over the tokens that the mask keeps.
template <typename OpTy> class Tokens {
public:
  Tokens(Emit &b, OpTy op) : b(b), op(op) {}

  /// `visit` gets each token's label, whether that counts, and what the token before made of the
  /// values; returns what the last one made of them.
  Values walk(Values init, function_ref<Values(Value label, Value counts, ValueRange)> visit) {
    Value mask = op.getMask(), zero = b.index(0), length = b.dim(mask, 1);
    Value last = b.sub(length, b.index(1));
    return b.loop(zero, b.dim(mask, 0), 1, init, [&](Value row, ValueRange ofRow) {
      return b.loop(zero, length, 1, ofRow, [&](Value column, ValueRange values) {
        Value keeps = differs(b.load(mask, {row, column}), 0);
        auto skip = [&] { return Values(values); };
        auto take = [&] {
          Value label = labelAt(row, column, last);
          return visit(label, counts(label), values);
        };
        return b.ifElse(keeps, values.getTypes(), take, skip);
      });
    });
  }

private:
  Value constant(int64_t v) { return arith::ConstantIntOp::create(b, v, 64); }
  Value differs(Value v, int64_t other) {
    return b.compare(arith::CmpIPredicate::ne, v, constant(other));
  }

  Value labelAt(Value row, Value column, Value last) {
    if (!op.getShifted())
      return b.load(op.getLabels(), {row, column});
    Value next = b.load(op.getLabels(), {row, b.min(b.add(column, 1), last)});
    return b.select(b.lt(column, last), next, constant(op.getIgnoreIndex()));
  }

  Value counts(Value label) {
    Value result = differs(label, op.getIgnoreIndex());
    if (auto padding = op.getPaddingIndex())
      result = b.both(result, differs(label, *padding));
    return result;
  }

  Emit &b;
  OpTy op;
};

} // namespace

Value transformer::emitNest(Emit &b, kernel::CountLabelledTokensOp op) {
  return Tokens(b, op)
      .walk({b.index(0)},
            [&](Value, Value counts, ValueRange before) {
              return Values{b.select(counts, b.add(before[0], 1), before[0])};
            })
      .front();
}

void transformer::emitNest(Emit &b, kernel::LabelledTokensOp op) {
  Value cu = op.getOuts()[0], labels = op.getOuts()[1], zero = b.index(0);
  Values ends = Tokens(b, op).walk({zero, zero}, [&](Value label, Value counts, ValueRange before) {
    Value token = before[0], span = before[1];
    b.ifThen(counts, [&] {
      b.store(token, cu, span);
      b.store(label, labels, span);
    });
    return Values{b.add(token, 1), b.select(counts, b.add(span, 1), span)};
  });
  b.store(ends[0], cu, ends[1]);
}
