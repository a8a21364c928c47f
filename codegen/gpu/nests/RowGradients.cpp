//===- RowGradients.cpp - backward of norms, embeddings, windows, tokens --===//
#include "codegen/gpu/nests/Blocks.h"
#include "codegen/gpu/nests/Kernels.h"
#include "codegen/gpu/nests/RowThreads.h"
#include "codegen/gpu/nests/Sums.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

namespace {

/// Rows first, the parts of each, then columns over all of them.
class NormGradient {
public:
  NormGradient(Loops &b, kernel::NormGradientOp op)
      : b(b), op(op), x(op.getX()), dy(op.getDy()), scratch(op.getOuts().back()),
        part(rowWidth(op.getGamma())), parts(rowWidth(x) / part) {}

  void emit() {
    Value tokens = b.dim(x, 0);
    rows(b, {tokens, b.index(parts)}, part,
         [&](ValueRange at, RowThreads &threads) { emitPart(at[0], at[1], threads); });
    int64_t count = op.getRms() ? 1 : 2; // dgamma, dbeta
    sumOverRows(
        b, b.mul(tokens, parts), part, count,
        [&](Value i, Value column) {
          Value row = b.div(i, parts), index = b.rem(i, parts);
          Values place = {row, b.add(b.mul(index, part), column)};
          Value d = b.load(dy, place);
          Value mean = b.load(scratch, {row, b.mul(index, 2)});
          Value inverse = b.load(scratch, {row, b.add(b.mul(index, 2), 1)});
          Value normalized = b.mulf(b.subf(b.load(x, place), mean), inverse);
          Values terms = {b.widen(b.mulf(d, normalized)), b.widen(d)};
          terms.truncate(count);
          return terms;
        },
        [&](ValueRange sums, Value column) {
          for (auto [i, sum] : llvm::enumerate(sums))
            b.store(b.narrow(sum), op.getOuts()[1 + i], column);
        });
  }

private:
  /// dx of a part's columns, and what normalises x to the scratch.
  void emitPart(Value row, Value index, RowThreads &threads) {
    Value first = b.mul(index, part), count = b.scalar(double(part)), none = b.scalar(0);
    auto load = [&](Value buffer, Value i) { return b.load(buffer, {row, b.add(first, i)}); };
    bool rms = op.getRms();
    NormAttr norm = op.getNorm();
    Value mean = rms ? none : b.divf(threads.sum(part, [&](Value i) { return load(x, i); }), count);
    auto centred = [&](Value i) { return b.subf(load(x, i), mean); };
    Value squares = threads.sum(part, [&](Value i) {
      Value d = centred(i);
      return b.mulf(d, d);
    });
    Value freedom = b.scalar(double(norm.getUnbiased() ? part - 1 : part));
    Value eps = b.scalar(norm.getEps().convertToDouble());
    auto root = [&](Value v) -> Value { return math::SqrtOp::create(b, v); };
    Value variance = b.divf(squares, freedom), one = b.scalar(1);
    Value deviation =
        norm.getEpsOutside() ? b.addf(root(variance), eps) : root(b.addf(variance, eps));
    Value inverse = b.divf(one, deviation);
    threads.once([&] {
      b.store(mean, scratch, {row, b.mul(index, 2)});
      b.store(inverse, scratch, {row, b.add(b.mul(index, 2), 1)});
    });
    auto weighted = [&](Value i) { return b.mulf(load(dy, i), b.load(op.getGamma(), i)); };
    auto normalized = [&](Value i) { return b.mulf(centred(i), inverse); };
    Value meanG = rms ? none : b.divf(threads.sum(part, weighted), count);
    Value products = threads.sum(part, [&](Value i) { return b.mulf(weighted(i), normalized(i)); });
    Value share = b.divf(products, freedom);
    if (norm.getEpsOutside()) { // d is not the deviation itself
      Value rest = b.subf(one, b.mulf(eps, inverse));
      Value differs = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, rest, none);
      share = b.select(differs, b.divf(share, rest), none); // of equal numbers nothing is shared
    }
    threads.forEach(part, [&](Value i) {
      Value d = b.subf(b.subf(weighted(i), meanG), b.mulf(normalized(i), share));
      d = b.mulf(d, inverse);
      if (Value onto = op.getOnto())
        d = b.addf(load(onto, i), d);
      b.store(d, op.getOuts()[0], {row, b.add(first, i)});
    });
  }

  Loops &b;
  kernel::NormGradientOp op;
  Value x, dy, scratch;
  int64_t part, parts;
};

} // namespace

void transformer::simt::emitKernel(Loops &b, kernel::NormGradientOp op) {
  NormGradient(b, op).emit();
}

namespace {

/// The next token of the same id, `tokens` where there is none; whether one is the first that
/// counts.
struct SameIds {
  Loops &b;
  kernel::EmbeddingGradientOp op;
  Value ids, tokens;
  Value next = b.buffer({ShapedType::kDynamic}, b.getIndexType(), tokens);
  Value isFirst = b.buffer({ShapedType::kDynamic}, b.getIndexType(), tokens);

  void find() {
    if (!b.target)
      return b.threads(tokens, [&](ValueRange at) {
        auto all = [&](Values found) {
          return b.loop(b.index(0), tokens, found, [&](Value other, ValueRange before) {
            return take(at[0], b.load(ids, at[0]), other, b.load(ids, other), before);
          });
        };
        store(at[0], all({tokens, none()}));
      });
    // Threads read the ids together; some have a token together, and a part of those each.
    constexpr int64_t tokensOfBlock = 64, parts = 4, threads = tokensOfBlock * parts;
    Value count = b.div(b.add(tokens, threads - 1), threads), last = b.sub(tokens, b.index(1));
    Value ofTokens = b.div(b.add(tokens, tokensOfBlock - 1), tokensOfBlock);
    blocks(b, ofTokens, threads, [&](ValueRange at, Value thread) {
      Value memory = sharedMemory(b, threads, b.getI64Type());
      Value foundIn = sharedMemory(b, {2, parts, tokensOfBlock}, b.getI64Type());
      Value part = b.div(thread, tokensOfBlock), place = b.rem(thread, tokensOfBlock);
      Value token = b.add(b.mul(at[0], tokensOfBlock), place), id = b.load(ids, b.min(token, last));
      Values found = b.loop(b.index(0), count, {tokens, none()}, [&](Value i, ValueRange before) {
        Value first = b.mul(i, threads), ofPart = b.mul(part, tokensOfBlock);
        b.store(b.load(ids, b.min(b.add(first, thread), last)), memory, thread);
        barrier(b);
        Value end = b.min(b.max(b.sub(tokens, first), ofPart), b.add(ofPart, tokensOfBlock));
        Values next = b.loop(ofPart, end, before, [&](Value j, ValueRange old) {
          return take(token, id, b.add(first, j), b.load(memory, j), old);
        });
        barrier(b);
        return next;
      });
      for (auto [i, value] : llvm::enumerate(found)) {
        Value word = arith::IndexCastOp::create(b, b.getI64Type(), value);
        b.store(word, foundIn, {b.index(static_cast<int64_t>(i)), part, place});
      }
      barrier(b);
      b.ifThen(b.both(b.equal(part, b.index(0)), b.less(token, tokens)), [&] {
        for (int64_t other = 1; other < parts; ++other) {
          auto of = [&](int64_t i) {
            return b.loadIndex(foundIn, {b.index(i), b.index(other), place});
          };
          found = {b.min(found[0], of(0)), b.add(found[1], of(1))};
        }
        store(token, found);
      });
    });
  }

private:
  Value none() { return b.index(0); }

  /// The least token behind with this id, and how many are in front.
  Values take(Value token, Value id, Value other, Value otherId, ValueRange before) {
    Value same = b.equal(otherId, id);
    Value behind = b.both(same, b.less(token, other)), front = b.both(same, b.less(other, token));
    Value count = arith::IndexCastUIOp::create(b, b.getIndexType(), front);
    return {b.min(before[0], b.select(behind, other, tokens)), b.add(before[1], count)};
  }

  void store(Value token, ValueRange found) {
    b.store(found[0], next, token);
    Value first = b.equal(found[1], none());
    if (auto padding = op.getPaddingIndex())
      first = b.both(first, b.differ(b.load(ids, token), b.integer(*padding)));
    b.store(arith::IndexCastUIOp::create(b, b.getIndexType(), first), isFirst, token);
  }
};

} // namespace

/// The first token of an id adds the rows of all that have it, in their order: each knows the next.
/// By how much a number's square rises stays beside it until all are summed.
void transformer::simt::emitKernel(Loops &b, kernel::EmbeddingGradientOp op) {
  Value ids = op.getIds(), dy = op.getDy(), table = op.getOuts()[0];
  Value tokens = b.dim(dy, 0), width = b.index(rowWidth(table));
  double scale = op.getScale().convertToDouble();
  if (!op.getOnto())
    b.threads({b.dim(table, 0), width}, [&](ValueRange at) { b.store(b.scalar(0), table, at); });
  SameIds same{b, op, ids, tokens};
  same.find();
  Value next = same.next, isFirst = same.isFirst, raises;
  bool sums = op.getOuts().size() > 1;
  if (sums)
    raises = b.buffer({ShapedType::kDynamic, rowWidth(table)}, b.getF64Type(), tokens);
  auto square = [&](Value v) { return b.mulf(b.widen(v), b.widen(v)); };
  b.threads({tokens, width}, [&](ValueRange at) {
    if (sums)
      b.store(b.real(0), raises, at);
    b.ifThen(b.less(b.index(0), b.load(isFirst, at[0])), [&] {
      Values to = {b.loadIndex(ids, at[0]), at[1]};
      Value before = b.load(table, to);
      auto loop = scf::WhileOp::create(
          b, TypeRange{b.getIndexType(), b.getF32Type()}, ValueRange{at[0], before},
          [&](OpBuilder &inner, Location loc, ValueRange values) {
            Value more =
                arith::CmpIOp::create(inner, loc, arith::CmpIPredicate::slt, values[0], tokens);
            scf::ConditionOp::create(inner, loc, more, values);
          },
          [&](OpBuilder &inner, Location loc, ValueRange values) {
            Value term = memref::LoadOp::create(inner, loc, dy, ValueRange{values[0], at[1]});
            if (scale != 1) {
              Value by = arith::ConstantOp::create(inner, loc, inner.getF32FloatAttr(scale));
              term = arith::MulFOp::create(inner, loc, term, by);
            }
            Value sum = arith::AddFOp::create(inner, loc, values[1], term);
            Value after = memref::LoadOp::create(inner, loc, next, values[0]);
            scf::YieldOp::create(inner, loc, ValueRange{after, sum});
          });
      Value after = loop.getResult(1);
      b.store(after, table, to);
      if (sums)
        b.store(b.subf(square(after), square(before)), raises, at);
    });
  });
  if (sums)
    sumOfAll(
        b, b.mul(tokens, width),
        [&](Value i) { return b.load(raises, {b.div(i, width), b.rem(i, width)}); },
        cast<MemRefType>(table.getType()).getNumElements(),
        [&](Value sum) { b.store(b.narrow(sum), op.getOuts()[1], {}); });
}

/// A thread a number: what it is in each of the windows that have its token.
void transformer::simt::emitKernel(Loops &b, kernel::WindowsGradientOp op) {
  Value dy = op.getDy(), cu = op.getCu(), cuDy = op.getCuDy(), result = op.getOuts()[0];
  int64_t width = rowWidth(result), kernel = rowWidth(dy) / width;
  auto stride = static_cast<int64_t>(op.getStride()),
       padding = static_cast<int64_t>(op.getPadding());
  b.threads({b.dim(result, 0), b.index(width)}, [&](ValueRange at) {
    Value sequence = sequenceOf(b, cu, at[0]), firstWindow = b.load(cuDy, sequence);
    Value count = b.sub(b.load(cuDy, b.add(sequence, 1)), firstWindow);
    Value place = b.add(b.sub(at[0], b.load(cu, sequence)), padding), sum = b.scalar(0);
    for (int64_t j = kernel - 1; j >= 0; --j) { // the token's place in a window
      // Unsigned: what is before the first window is a large number.
      Value first = b.sub(place, b.index(j)), window = b.div(first, stride);
      Value reads = b.compare(arith::CmpIPredicate::ult, window, count);
      reads = b.both(reads, b.equal(b.mul(window, stride), first));
      sum = b.ifElse(
          reads,
          [&] {
            Value from = b.add(firstWindow, window);
            return Values{b.addf(sum, b.load(dy, {from, b.add(at[1], j * width)}))};
          },
          [&] { return Values{sum}; })[0];
    }
    b.store(sum, result, at);
  });
}

void transformer::simt::emitKernel(Loops &b, kernel::TokenGradientOp op) {
  Value dy = op.getDy(), cu = op.getCu(), result = op.getOuts()[0];
  b.threads({b.dim(result, 0), b.index(rowWidth(result))}, [&](ValueRange at) {
    Value sequence = sequenceOf(b, cu, at[0]);
    b.store(b.scalar(0), result, at);
    b.ifThen(b.less(sequence, b.dim(dy, 0)), [&] {
      Value which =
          op.getLast() ? b.sub(b.load(cu, b.add(sequence, 1)), b.index(1)) : b.load(cu, sequence);
      b.ifThen(b.equal(at[0], which), [&] { b.store(b.load(dy, {sequence, at[1]}), result, at); });
    });
  });
}
