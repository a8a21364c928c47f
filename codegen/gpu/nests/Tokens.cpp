//===- Tokens.cpp - padding dropped and put back --------------------------===//
#include "codegen/gpu/nests/Kernels.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

/// How many end at or before it.
Value transformer::simt::sequenceOf(Loops &b, Value cu, Value row) {
  Value zero = b.index(0), count = b.sub(b.dim(cu, 0), b.index(1));
  return b
      .loop(zero, count, zero,
            [&](Value i, ValueRange args) {
              Value ended =
                  arith::CmpIOp::create(b, arith::CmpIPredicate::ule, b.load(cu, b.add(i, 1)), row);
              return Values{
                  b.add(args[0], arith::IndexCastUIOp::create(b, b.getIndexType(), ended))};
            })
      .front();
}

/// 1 where the mask keeps the element, 0 elsewhere.
static Value kept(Loops &b, Value mask, ValueRange at) {
  Value x = b.load(mask, at);
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(x.getType()));
  Value keeps = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, x, zero);
  return arith::IndexCastUIOp::create(b, b.getIndexType(), keeps);
}

/// The host's: sizes of buffers follow from it.
Value transformer::simt::emitKernel(Loops &b, kernel::CountTokensOp op) {
  Value mask = op.getMask(), zero = b.index(0);
  return b
      .loop(zero, b.dim(mask, 0), zero,
            [&](Value row, ValueRange rowArgs) {
              return b.loop(zero, b.dim(mask, 1), rowArgs, [&](Value column, ValueRange args) {
                return Values{b.add(args[0], kept(b, mask, {row, column}))};
              });
            })
      .front();
}

/// How many are kept before each of a row, how many before each row, then a thread an element.
void transformer::simt::emitKernel(Loops &b, kernel::PackTokensOp op) {
  Value mask = op.getMask(), cu = op.getOuts()[0], places = op.getOuts()[1];
  Value zero = b.index(0), batch = b.dim(mask, 0), length = b.dim(mask, 1);
  constexpr int64_t dynamic = ShapedType::kDynamic;
  Value before = b.buffer({dynamic, dynamic}, b.getIndexType(), {batch, length});
  b.threads({batch, length}, [&](ValueRange at) {
    Value count = b.loop(zero, at[1], zero, [&](Value column, ValueRange sum) {
      return Values{b.add(sum[0], kept(b, mask, {at[0], column}))};
    })[0];
    b.store(count, before, at);
  });
  b.once([&] {
    b.store(zero, cu, zero);
    b.loop(zero, batch, zero, [&](Value row, ValueRange sum) {
      Value last = b.sub(length, b.index(1));
      auto ofRow = [&] {
        return Values{b.add(b.load(before, {row, last}), kept(b, mask, {row, last}))};
      };
      Value count = b.ifElse(b.less(zero, length), ofRow, [&] { return Values{zero}; })[0];
      Value next = b.add(sum[0], count);
      b.store(next, cu, b.add(row, 1));
      return Values{next};
    });
  });
  b.threads({batch, length}, [&](ValueRange at) {
    b.ifThen(b.less(zero, kept(b, mask, at)), [&] {
      Value to = b.add(b.load(cu, at[0]), b.load(before, at));
      b.store(b.add(b.mul(at[0], length), at[1]), places, to);
      for (auto [input, packed] : llvm::zip_equal(op.getInputs(), op.getOuts().drop_front(2)))
        b.store(b.load(input, at), packed, to);
    });
  });
}

namespace {

/// As the host or one thread sees them: the tokens that the mask keeps, and their labels.
template <typename OpTy> class LabelledTokens {
public:
  LabelledTokens(Loops &b, OpTy op) : b(b), op(op) {}

  /// `visit` gets each token's label, 1 if that counts, else 0, and what the token before made of
  /// the values; returns what the last one made of them.
  Values walk(Values init, function_ref<Values(Value label, Value counts, ValueRange)> visit) {
    Value mask = op.getMask(), zero = b.index(0), length = b.dim(mask, 1);
    Value last = b.sub(length, b.index(1));
    return b.loop(zero, b.dim(mask, 0), init, [&](Value row, ValueRange ofRow) {
      return b.loop(zero, length, ofRow, [&](Value column, ValueRange values) {
        auto skip = [&] { return Values(values); };
        auto take = [&] {
          Value label = labelAt(row, column, last);
          return visit(label, counts(label), values);
        };
        return b.ifElse(b.less(zero, kept(b, mask, {row, column})), take, skip);
      });
    });
  }

private:
  Value labelAt(Value row, Value column, Value last) {
    if (!op.getShifted())
      return b.load(op.getLabels(), {row, column});
    Value next = b.load(op.getLabels(), {row, b.min(b.add(column, 1), last)});
    return b.select(b.less(column, last), next, b.integer(op.getIgnoreIndex()));
  }

  Value counts(Value label) {
    Value result = b.differ(label, b.integer(op.getIgnoreIndex()));
    if (auto padding = op.getPaddingIndex())
      result = b.both(result, b.differ(label, b.integer(*padding)));
    return arith::IndexCastUIOp::create(b, b.getIndexType(), result);
  }

  Loops &b;
  OpTy op;
};

} // namespace

/// The host's, as that of `count_tokens`.
Value transformer::simt::emitKernel(Loops &b, kernel::CountLabelledTokensOp op) {
  return LabelledTokens(b, op)
      .walk({b.index(0)}, [&](Value, Value counts,
                              ValueRange before) { return Values{b.add(before[0], counts)}; })
      .front();
}

/// By one thread: pipelines for GPUs do not ask for it.
void transformer::simt::emitKernel(Loops &b, kernel::LabelledTokensOp op) {
  Value cu = op.getOuts()[0], labels = op.getOuts()[1];
  b.once([&] {
    Value zero = b.index(0);
    Values ends =
        LabelledTokens(b, op).walk({zero, zero}, [&](Value label, Value counts, ValueRange before) {
          b.ifThen(b.less(zero, counts), [&] {
            b.store(before[0], cu, before[1]);
            b.store(label, labels, before[1]);
          });
          return Values{b.add(before[0], 1), b.add(before[1], counts)};
        });
    b.store(ends[0], cu, ends[1]);
  });
}

/// Zeros everywhere, then the rows that there are.
void transformer::simt::emitKernel(Loops &b, kernel::UnpackTokensOp op) {
  Value x = op.getX(), places = op.getRows(), result = op.getOuts()[0];
  std::optional<int64_t> column = op.getColumn();
  auto type = cast<MemRefType>(result.getType());
  Values sizes;
  for (int64_t d = 0; d < type.getRank(); ++d)
    sizes.push_back(b.dim(result, d));
  b.threads(sizes, [&](ValueRange at) { b.store(b.scalar(0), result, at); });
  Value width = b.index(column ? 1 : rowWidth(x)), length = b.dim(result, 1);
  b.threads({b.dim(places, 0), width}, [&](ValueRange at) {
    Value place = b.load(places, at[0]);
    Values to = {b.div(place, length), b.rem(place, length)};
    if (!column)
      to.push_back(at[1]);
    b.store(b.load(x, {at[0], column ? b.index(*column) : at[1]}), result, to);
  });
}

void transformer::simt::emitKernel(Loops &b, kernel::FirstTokenOp op) {
  Value x = op.getX(), cu = op.getCu(), result = op.getOuts()[0];
  b.threads({b.dim(result, 0), b.index(rowWidth(x))}, [&](ValueRange at) {
    b.store(b.scalar(0), result, at);
    Value first = b.load(cu, at[0]), end = b.load(cu, b.add(at[0], 1));
    b.ifThen(b.less(first, end), [&] {
      Value token = op.getChosen() ? at[0] : op.getLast() ? b.sub(end, b.index(1)) : first;
      b.store(b.load(x, {token, at[1]}), result, at);
    });
  });
}
