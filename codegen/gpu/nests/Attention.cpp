//===- Attention.cpp - a thread a query and head --------------------------===//
#include "codegen/gpu/nests/AttentionBlocks.h"
#include "codegen/gpu/nests/Dropout.h"
#include "codegen/gpu/nests/Kernels.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

namespace {

/// An online softmax; the result's own memory holds the weighted values.
template <typename Op>
void emitAttention(Loops &b, Op op, Value cuQueries, Value factor, KeysOf keysOf) {
  AttentionScores scores(b, op, factor);
  Value q = op.getQ(), result = op.getOuts()[0], dropoutKey;
  if constexpr (requires { op.getDropoutKey(); })
    dropoutKey = op.getDropoutKey();
  b.threads({b.dim(q, 0), b.index(scores.heads)}, [&](ValueRange at) {
    Value query = at[0], head = at[1], zero = b.index(0), size = b.index(scores.headDim);
    Value column = scores.column(head), keyColumn = scores.column(scores.kvHeadOf(head));
    auto to = [&](Value d) { return Values{query, b.add(column, d)}; };
    Value sequence = sequenceOf(b, cuQueries, query);
    Value firstQuery = b.load(cuQueries, sequence);
    Value queries = b.sub(b.load(cuQueries, b.add(sequence, 1)), firstQuery);
    Keys keys = keysOf(sequence);
    // The query's own place among the keys.
    Value place = b.add(b.sub(query, firstQuery), b.sub(keys.count, queries));
    auto [from, end] = scores.keysOf(place, keys.count);
    b.forEach(zero, size, [&](Value d) { b.store(b.scalar(0), result, to(d)); });
    Value lowest = b.scalar(-std::numeric_limits<float>::infinity());
    Values done = b.loop(from, end, {lowest, b.scalar(0)}, [&](Value j, ValueRange args) {
      auto [key, value] = keys.find(j);
      Value score = scores.of(query, head, key, b.sub(j, place));
      FloatType rounding = scores.options.getRounding();
      Value highest = b.maxf(args[0], rounding ? logOfPower(b, score) : score);
      auto exp = [&](Value x) -> Value { return math::ExpOp::create(b, x); };
      Value shrink = exp(b.subf(args[0], highest)), weight = exp(b.subf(score, highest));
      Value kept = weight; // the sum of weights has those that are dropped, too
      if (dropoutKey) {
        double rate = scores.options.getDropout().convertToDouble();
        kept = b.mulf(weight, DropoutFactors{b, dropoutKey, rate, b.add(head, 1)}.of(query, j));
      }
      kept = roundTo(b, rounding, kept);
      b.forEach(zero, size, [&](Value d) {
        Value old = b.mulf(b.load(result, to(d)), shrink);
        Value term = b.mulf(kept, value.load(b, b.add(keyColumn, d)));
        b.store(b.addf(old, term), result, to(d));
      });
      return Values{highest, b.addf(b.mulf(args[1], shrink), weight)};
    });
    Value seesAny = b.less(from, end);
    b.ifThen(seesAny, [&] {
      b.forEach(zero, size,
                [&](Value d) { b.store(b.divf(b.load(result, to(d)), done[1]), result, to(d)); });
    });
    if (op.getOuts().size() < 2) // log_sum_exp is asked for
      return;
    Value sum = b.addf(done[0], math::LogOp::create(b, done[1]));
    b.store(b.select(seesAny, sum, lowest), op.getOuts()[1], {query, head});
  });
}

/// Position `at` of a sequence: its page, and its place in it.
std::pair<Value, Value> pageOf(Loops &b, Value table, Value sequence, Value at, Value positions) {
  return {b.loadIndex(table, {sequence, b.div(at, positions)}), b.rem(at, positions)};
}

int64_t pagePositions(Value cache) { return cast<MemRefType>(cache.getType()).getDimSize(1) / 2; }

} // namespace

void transformer::simt::emitKernel(Loops &b, kernel::AttentionOp op) {
  auto keysOf = [&b, op](Value sequence) mutable {
    Value first = b.load(op.getCuKeys(), sequence);
    Value end = b.load(op.getCuKeys(), b.add(sequence, 1));
    return Keys{b.sub(end, first), [&b, op, first](Value j) mutable {
                  Value row = b.add(first, j);
                  return std::pair(Place{op.getK(), {row}}, Place{op.getV(), {row}});
                }};
  };
  if (emitAttentionTensorCores(b, op) || emitAttentionBlocks(b, op, keysOf))
    return;
  Value factor = op.getScaleFactor().empty() ? Value() : op.getScaleFactor().front();
  emitAttention(b, op, op.getCuQueries(), factor, keysOf);
}

void transformer::simt::emitKernel(Loops &b, kernel::RelativeScoresOp op) {
  Value x = op.getX(), table = op.getTable(), result = op.getOuts()[0];
  int64_t heads = op.getNumHeads(), headDim = rowWidth(x) / heads;
  int64_t positions = rowWidth(result) / heads;
  b.threads({b.dim(x, 0), b.index(heads), b.index(positions)}, [&](ValueRange at) {
    Value column = b.mul(at[1], headDim);
    Value sum = b.sum(headDim, [&](Value d) {
      Value place = b.add(column, d);
      return b.mulf(b.load(x, {at[0], place}), b.load(table, {at[2], place}));
    });
    b.store(sum, result, {at[0], b.add(b.mul(at[1], positions), at[2])});
  });
}

/// A page has its keys, a row each, then its values.
void transformer::simt::emitKernel(Loops &b, kernel::PagedAttentionOp op) {
  Value cache = op.getCache();
  int64_t positions = pagePositions(cache);
  auto keysOf = [&b, op, cache, positions](Value sequence) mutable {
    Value count = b.loadIndex(op.getLengths(), sequence);
    return Keys{count, [&b, op, cache, sequence, positions](Value j) mutable {
                  auto [page, place] = pageOf(b, op.getTable(), sequence, j, b.index(positions));
                  return std::pair(Place{cache, {page, place}},
                                   Place{cache, {page, b.add(place, positions)}});
                }};
  };
  if (!emitAttentionTensorCores(b, op) && !emitAttentionBlocks(b, op, keysOf))
    emitAttention(b, op, op.getCu(), op.getScaleFactor(), keysOf);
}

/// A thread a number of the new rows.
void transformer::simt::emitKernel(Loops &b, kernel::AppendPagesOp op) {
  Value k = op.getK(), cu = op.getCu(), cache = op.getOuts()[0];
  int64_t positions = pagePositions(cache);
  b.threads({b.dim(k, 0), b.index(rowWidth(k))}, [&](ValueRange at) {
    Value row = at[0], sequence = sequenceOf(b, cu, row);
    Value behind = b.sub(b.load(cu, b.add(sequence, 1)), row);
    Value position = b.sub(b.loadIndex(op.getLengths(), sequence), behind);
    auto [page, place] = pageOf(b, op.getTable(), sequence, position, b.index(positions));
    b.store(b.load(k, at), cache, {page, place, at[1]});
    b.store(b.load(op.getV(), at), cache, {page, b.add(place, positions), at[1]});
  });
}
