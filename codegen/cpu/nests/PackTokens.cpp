//===- PackTokens.cpp - where padding goes and comes back -----------------===//
#include "codegen/cpu/nests/NestEmitters.h"
#include "codegen/cpu/nests/NestWork.h"
#include "codegen/cpu/nests/Rows.h"

using namespace mlir;
using namespace mlir::transformer;

/// Whether the mask keeps the element at `at`.
static Value kept(Emit &b, Value mask, ValueRange at) {
  Value x = b.load(mask, at);
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(x.getType()));
  return b.compare(arith::CmpIPredicate::ne, x, zero);
}

Value transformer::emitNest(Emit &b, kernel::CountTokensOp op) {
  Value mask = op.getMask(), zero = b.index(0);
  Values total = b.loop(zero, b.dim(mask, 0), 1, zero, [&](Value row, ValueRange rowArgs) {
    return b.loop(zero, b.dim(mask, 1), 1, rowArgs, [&](Value column, ValueRange args) {
      Value one = arith::IndexCastUIOp::create(b, b.getIndexType(), kept(b, mask, {row, column}));
      return Values{b.add(args[0], one)};
    });
  });
  return total.front();
}

void transformer::emitNest(Emit &b, kernel::PackTokensOp op) {
  Value mask = op.getMask(), cu = op.getOuts()[0], places = op.getOuts()[1];
  Value zero = b.index(0), batch = b.dim(mask, 0), length = b.dim(mask, 1);
  b.store(zero, cu, zero);
  b.loop(zero, batch, 1, zero, [&](Value row, ValueRange rowArgs) {
    Value first = b.mul(row, length);
    Values next = b.loop(zero, length, 1, rowArgs, [&](Value column, ValueRange args) {
      Value token = args[0];
      auto keep = [&] {
        b.store(b.add(first, column), places, token);
        for (auto [input, packed] : llvm::zip_equal(op.getInputs(), op.getOuts().drop_front(2)))
          b.store(b.load(input, {row, column}), packed, token);
        return Values{b.add(token, 1)};
      };
      return b.ifElse(kept(b, mask, {row, column}), b.getIndexType(), keep,
                      [&] { return Values{token}; });
    });
    b.store(next.front(), cu, b.add(row, 1));
    return next;
  });
}

void transformer::emitNest(Emit &b, kernel::UnpackTokensOp op) {
  Value x = op.getX(), places = op.getRows(), result = op.getOuts()[0];
  std::optional<int64_t> column = op.getColumn();
  int64_t width = column ? 1 : rowWidth(x), size = Emit::itemsPerTask(width);
  Value tokens = b.dim(places, 0), length = b.dim(result, 1);
  Value all = b.mul(b.dim(result, 0), length);
  Work work = rowWork("unpack_tokens", "tokens", width, 1);
  work.amounts.push_back({"places", 0, rowBytes(width)});
  b.parallel(work, {tokens, all}, b.ceilDiv(all, size), [&](Value task) {
    auto [lower, upper] = taskRange(b, task, size, all);
    // Places ascend: the task's first token is the number of places below its
    // range; from there it walks.
    Value first = b.findSegment(b.add(tokens, 1), lower, [&](Value token) {
      return b.add(b.load(places, b.sub(token, b.index(1))), 1);
    });
    b.loop(lower, upper, 1, first, [&](Value place, ValueRange args) {
      Value token = args[0], row = b.div(place, length), position = b.rem(place, length);
      Value here = b.ifElse(
                        b.lt(token, tokens), b.getI1Type(),
                        [&] { return Values{b.eq(b.load(places, token), place)}; },
                        [&] { return Values{arith::ConstantOp::create(b, b.getBoolAttr(false))}; })
                       .front();
      auto copy = [&] {
        if (column)
          b.store(b.load(x, {token, b.index(*column)}), result, {row, position});
        else
          copyRow(b, width, x, token, result, {row, position});
        return Values{b.add(token, 1)};
      };
      auto clear = [&] {
        if (column)
          b.store(b.scalar(0), result, {row, position});
        else
          zeroRow(b, width, result, {row, position});
        return Values{token};
      };
      return b.ifElse(here, b.getIndexType(), copy, clear);
    });
  });
}

void transformer::emitNest(Emit &b, kernel::FirstTokenOp op) {
  Value x = op.getX(), cu = op.getCu(), result = op.getOuts()[0];
  int64_t width = rowWidth(x), size = Emit::itemsPerTask(width);
  Value batch = b.dim(result, 0);
  StringRef name = op.getChosen() ? "clear_empty" : op.getLast() ? "last_token" : "first_token";
  b.parallel(rowWork(name, "sequences", width, 2), batch, b.ceilDiv(batch, size), [&](Value task) {
    auto [lower, upper] = taskRange(b, task, size, batch);
    b.forEach(lower, upper, 1, [&](Value row) {
      Value first = b.load(cu, row), end = b.load(cu, b.add(row, 1));
      auto copy = [&] {
        Value token = op.getChosen() ? row : op.getLast() ? b.sub(end, b.index(1)) : first;
        copyRow(b, width, x, token, result, row);
        return Values();
      };
      auto clear = [&] {
        zeroRow(b, width, result, row);
        return Values();
      };
      b.ifElse(b.lt(first, end), TypeRange(), copy, clear);
    });
  });
}

void transformer::emitNest(Emit &b, kernel::TokenGradientOp op) {
  Value dy = op.getDy(), cu = op.getCu(), result = op.getOuts()[0], batch = b.dim(dy, 0);
  int64_t width = rowWidth(dy);
  Value zero = b.index(0), one = b.index(1);
  // Of tokens in front of the first sequence, then those of each.
  b.parallel(rowWork("token_gradient", "tokens", width, 1), b.dim(result, 0), b.add(batch, 1),
             [&](Value task) {
               Value isFront = b.eq(task, zero), sequence = b.sub(b.max(task, one), one);
               Value first = b.select(isFront, zero, b.load(cu, sequence)), end = b.load(cu, task);
               b.forEach(first, end, 1, [&](Value row) { zeroRow(b, width, result, row); });
               b.ifThen(b.both(b.lt(zero, task), b.lt(first, end)), [&] {
                 Value token = op.getLast() ? b.sub(end, one) : first;
                 copyRow(b, width, dy, sequence, result, token);
               });
             });
}
