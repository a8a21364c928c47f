//===- Attention.cpp - a thread a query and head --------------------------===//
#include "codegen/gpu/nests/Kernels.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <functional>

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

namespace {

/// What the bias adds to the score of a key at `distance` from its query.
Value biasOf(Loops &b, Value bias, Value head, Value distance) {
  auto type = cast<MemRefType>(bias.getType());
  if (type.getRank() == 1) { // a slope
    Value length = b.max(distance, b.sub(b.index(0), distance));
    Value real = arith::SIToFPOp::create(b, b.getF32Type(),
                                         arith::IndexCastOp::create(b, b.getI64Type(), length));
    return b.mulf(arith::NegFOp::create(b, b.load(bias, head)), real);
  }
  int64_t reach = type.getDimSize(1) / 2;
  Value column = b.min(b.max(distance, b.index(-reach)), b.index(reach));
  return b.load(bias, {head, b.add(column, reach)});
}

/// What the contents of a query and a key say about their distance.
Value relativeScore(Loops &b, kernel::AttentionOp op, Value query, Value head, Value key,
                    Value kvHead, Value distance) {
  int64_t reach = cast<MemRefType>(op.getColumns().getType()).getDimSize(0) / 2;
  Value place = b.min(b.max(distance, b.index(-reach)), b.index(reach)), sum = b.scalar(0);
  Value column = b.loadIndex(op.getColumns(), b.add(place, reach));
  auto add = [&](Value scores, Value row, Value of, uint64_t heads) {
    if (!scores)
      return;
    int64_t positions = rowWidth(scores) / static_cast<int64_t>(heads);
    sum = b.addf(sum, b.load(scores, {row, b.add(b.mul(of, positions), column)}));
  };
  add(op.getQueryScores(), query, head, op.getNumHeads());
  add(op.getKeyScores(), key, kvHead, op.getNumKvHeads());
  return sum;
}

/// A row of keys or values: `[..., column]` of a buffer.
struct Place {
  Value buffer;
  Values at; // all but the column
  Value load(Loops &b, Value column) const {
    Values indices = at;
    indices.push_back(column);
    return b.load(buffer, indices);
  }
};

/// The keys and values that a sequence's queries see.
struct Keys {
  Value count;
  std::function<std::pair<Place, Place>(Value j)> find; // of one of them
};

/// An online softmax; the result's own memory holds the weighted values.
template <typename Op>
void emitAttention(Loops &b, Op op, Value cuQueries, Value factor,
                   function_ref<Keys(Value sequence)> keysOf) {
  Value q = op.getQ(), result = op.getOuts()[0];
  int64_t heads = op.getNumHeads(), headDim = rowWidth(q) / heads;
  int64_t group = heads / static_cast<int64_t>(op.getNumKvHeads());
  AttentionOptionsAttr options = op.getOptions();
  b.threads({b.dim(q, 0), b.index(heads)}, [&](ValueRange at) {
    Value query = at[0], zero = b.index(0), size = b.index(headDim);
    Value column = b.mul(at[1], headDim);
    Value keyColumn = b.mul(b.div(at[1], b.index(group)), headDim);
    auto to = [&](Value d) { return Values{query, b.add(column, d)}; };
    Value sequence = sequenceOf(b, cuQueries, query);
    Value firstQuery = b.load(cuQueries, sequence);
    Value queries = b.sub(b.load(cuQueries, b.add(sequence, 1)), firstQuery);
    Keys keys = keysOf(sequence);
    // The query's own place among the keys.
    Value place = b.add(b.sub(query, firstQuery), b.sub(keys.count, queries));
    Value from = zero, end = keys.count;
    if (options.getCausal())
      end = b.min(end, b.add(place, 1));
    if (int64_t window = options.getWindow()) {
      from = b.max(zero, b.add(place, 1 - window));
      end = b.min(end, b.add(place, window));
    }
    b.forEach(zero, size, [&](Value d) { b.store(b.scalar(0), result, to(d)); });
    Value scale = b.scalar(op.getScale().convertToDouble());
    if (factor)
      scale = b.mulf(scale, factor);
    Value lowest =
        arith::ConstantOp::create(b, b.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
    Values done = b.loop(from, end, {lowest, b.scalar(0)}, [&](Value j, ValueRange args) {
      auto [key, value] = keys.find(j);
      Value product = b.sum(headDim, [&](Value d) {
        return b.mulf(b.load(q, to(d)), key.load(b, b.add(keyColumn, d)));
      });
      if constexpr (std::is_same_v<Op, kernel::AttentionOp>)
        if (op.getColumns()) {
          Value kvHead = b.div(at[1], b.index(group));
          product = b.addf(
              product, relativeScore(b, op, query, at[1], key.at.front(), kvHead, b.sub(j, place)));
        }
      Value score = b.mulf(product, scale);
      if (Value bias = op.getPositionBias())
        score = b.addf(score, biasOf(b, bias, at[1], b.sub(j, place)));
      Value highest = arith::MaximumFOp::create(b, args[0], score);
      auto exp = [&](Value x) -> Value { return math::ExpOp::create(b, x); };
      Value shrink = exp(b.subf(args[0], highest)), weight = exp(b.subf(score, highest));
      b.forEach(zero, size, [&](Value d) {
        Value old = b.mulf(b.load(result, to(d)), shrink);
        Value term = b.mulf(weight, value.load(b, b.add(keyColumn, d)));
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
    constexpr double ln2 = 0.6931471805599453;
    Value logarithm = b.mulf(math::Log2Op::create(b, done[1]), b.scalar(ln2));
    Value sum = b.select(seesAny, b.addf(done[0], logarithm), lowest);
    b.store(sum, op.getOuts()[1], {query, at[1]});
  });
}

/// Position `at` of a sequence: its page, and its place in it.
std::pair<Value, Value> pageOf(Loops &b, Value table, Value sequence, Value at, Value positions) {
  return {b.loadIndex(table, {sequence, b.div(at, positions)}), b.rem(at, positions)};
}

int64_t pagePositions(Value cache) { return cast<MemRefType>(cache.getType()).getDimSize(1) / 2; }

} // namespace

void transformer::simt::emitKernel(Loops &b, kernel::AttentionOp op) {
  Value factor = op.getScaleFactor().empty() ? Value() : op.getScaleFactor().front();
  emitAttention(b, op, op.getCuQueries(), factor, [&](Value sequence) {
    Value first = b.load(op.getCuKeys(), sequence);
    Value end = b.load(op.getCuKeys(), b.add(sequence, 1));
    return Keys{b.sub(end, first), [&b, op, first](Value j) mutable {
                  Value row = b.add(first, j);
                  return std::pair(Place{op.getK(), {row}}, Place{op.getV(), {row}});
                }};
  });
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
  emitAttention(b, op, op.getCu(), op.getScaleFactor(), [&](Value sequence) {
    Value count = b.loadIndex(op.getLengths(), sequence);
    return Keys{count, [&b, op, cache, sequence, positions](Value j) mutable {
                  auto [page, place] = pageOf(b, op.getTable(), sequence, j, b.index(positions));
                  return std::pair(Place{cache, {page, place}},
                                   Place{cache, {page, b.add(place, positions)}});
                }};
  });
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
