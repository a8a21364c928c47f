//===- AttentionBlocks.cpp - attention by blocks of threads ---------------===//
//
// A block has some rows, a row a query and one of the heads that share its keys, and goes through
// the keys tile by tile: products with keys, an online softmax in registers, products with values.
// Values are on their way while the block multiplies with keys, the next keys while it multiplies
// with values. The softmax of each span of keys is made alone, and joined with that of the keys
// before: so a sequence with one new token can have a block for each span, and gets the same bits
// (FlashAttention-2, Dao 2023; Flash-Decoding, Dao et al. 2023).
//
//===----------------------------------------------------------------------===//
#include "codegen/gpu/nests/AttentionBlocks.h"
#include "codegen/gpu/nests/Blocks.h"
#include "codegen/gpu/nests/Dropout.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

namespace {

Value exp(Loops &b, Value x) { return math::ExpOp::create(b, x); }
Value lowest(Loops &b) { return b.scalar(-std::numeric_limits<float>::infinity()); }
Value isSame(Loops &b, Value x, Value y) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x, y);
}
/// What scores are lessened by: 0 where there is none.
Value shiftOf(Loops &b, Value highest) {
  return b.select(isSame(b, highest, lowest(b)), b.scalar(0), highest);
}

/// A softmax of more keys: how the sums of both parts are weighted.
struct Joined {
  Value highest, total, old, added;
  Joined(Loops &b, Value highestBefore, Value totalBefore, Value highestOfSpan, Value totalOfSpan) {
    highest = b.maxf(highestBefore, highestOfSpan);
    Value shift = shiftOf(b, highest);
    old = exp(b, b.subf(highestBefore, shift));
    added = exp(b, b.subf(highestOfSpan, shift));
    total = math::FmaOp::create(b, totalBefore, old, b.mulf(totalOfSpan, added));
  }
  Value sum(Loops &b, Value before, Value ofSpan) const {
    return math::FmaOp::create(b, before, old, b.mulf(ofSpan, added));
  }
};

/// Of sums of weighted values; 0 where no key is seen.
Value normalize(Loops &b, Value sum, Value total) {
  return b.select(isSame(b, total, b.scalar(0)), b.scalar(0), b.divf(sum, total));
}

template <typename Op> class AttentionBlocks {
public:
  AttentionBlocks(Loops &b, Op op, Value cu, Value factor, KeysOf keysOf, FloatType ofKeys)
      : b(b), scores(b, op, factor), q(op.getQ()), cu(cu), result(op.getOuts()[0]), keysOf(keysOf),
        ofKeys(ofKeys), target(*b.target) {
    if constexpr (requires { op.getDropoutKey(); })
      dropoutKey = op.getDropoutKey();
    if (op.getOuts().size() > 1)
      logSumExp = op.getOuts()[1];
  }

  /// A block a tile of a sequence's rows; sequences of one token are left out if those are `split`.
  void emitTiles(TileShape shape, bool split) {
    int64_t group = scores.group();
    Value tiles = countTiles(b, b.dim(q, 0), cu, group, shape.rows());
    blocks(b, {tiles, b.index(scores.kvHeads)}, shape.threads(), [&](ValueRange at, Value thread) {
      SequenceTile place = findTile(b, at[0], cu, group, shape.rows());
      Value isThere = b.less(place.first, b.mul(place.tokens, group));
      if (split)
        isThere = b.both(isThere, b.less(b.index(1), place.tokens));
      b.ifThen(isThere, [&] { emitTile(AttentionTile(b, shape, thread), place, at[1]); });
    });
  }

  /// A block a span of keys and some heads, of sequences that have one token.
  void emitSpans(TileShape shape, Value mostKeys) {
    Value sequences = b.sub(b.dim(cu, 0), b.index(1)), span = b.index(target.attentionSpan);
    Value spans = b.div(b.add(mostKeys, target.attentionSpan - 1), span);
    constexpr int64_t dynamic = ShapedType::kDynamic;
    Values sizes = {sequences, spans};
    Value sums = b.buffer({dynamic, dynamic, scores.heads * scores.headDim}, b.getF32Type(), sizes);
    Value totals = b.buffer({dynamic, dynamic, scores.heads * 2}, b.getF32Type(), sizes);
    Value tiles = b.index(llvm::divideCeil(scores.group(), shape.rows()));
    blocks(b, {sequences, b.index(scores.kvHeads), tiles, spans}, shape.threads(),
           [&](ValueRange at, Value thread) {
             SequenceTile place = onlyToken(at[0]);
             place.first = b.mul(at[2], shape.rows());
             b.ifThen(b.equal(place.tokens, b.index(1)), [&] {
               emitSpan(AttentionTile(b, shape, thread), place, at[1], at[3], sums, totals);
             });
           });
    b.threads({sequences, b.index(scores.heads * scores.headDim)}, [&](ValueRange at) {
      SequenceTile place = onlyToken(at[0]);
      b.ifThen(b.equal(place.tokens, b.index(1)), [&] { joinSpans(place, at[1], sums, totals); });
    });
  }

private:
  /// What a block has in shared memory.
  struct Shared {
    Value queries, keys, values, weights;
  };
  /// The block's part of the work.
  struct Work {
    SequenceTile place;
    Value kvHead;
    Keys keys;
    SmallVector<QueryRow> rows; // of the thread
  };

  SequenceTile onlyToken(Value sequence) {
    Value first = b.load(cu, sequence);
    return {sequence, Value(), first, b.sub(b.load(cu, b.add(sequence, 1)), first)};
  }

  QueryRow rowOf(const Work &work, Value number) {
    return queryRow(scores, work.place, work.keys.count, work.kvHead, number);
  }

  Work workOf(const AttentionTile &tile, const SequenceTile &place, Value kvHead) {
    Work work{place, kvHead, keysOf(place.sequence), {}};
    for (int64_t i = 0; i < tile.shape.rowsOfThread; ++i)
      work.rows.push_back(rowOf(work, b.add(place.first, tile.row(i))));
    return work;
  }

  /// The tiles of keys `[first, second)` that any row of the tile sees, of those from `from` up to
  /// `end`, which may be null.
  std::pair<Value, Value> tilesOfKeys(const TileShape &shape, const Work &work, Value least,
                                      Value most) {
    Value first = work.place.first, last = b.add(first, shape.rows() - 1);
    Value from = rowOf(work, first).from;
    Value end = b.max(rowOf(work, last).end, b.index(0));
    if (least) {
      from = b.max(from, least);
      end = b.min(end, most);
    }
    Value begin = b.div(from, shape.columns);
    return {begin, b.max(begin, b.div(b.add(end, shape.columns - 1), shape.columns))};
  }

  /// The block's queries and its first keys are on their way.
  Shared begin(const AttentionTile &tile, const Work &work, Value firstTile, Value endTile) {
    const TileShape &shape = tile.shape;
    Shared shared{tile.vectors(shape.rows(), b.getF32Type()), tile.vectors(shape.columns, ofKeys),
                  tile.vectors(shape.columns, ofKeys), tile.weights()};
    tile.copy(shared.queries, b.index(0), shape.rows(), [&](Value i) {
      QueryRow row = rowOf(work, b.add(work.place.first, i));
      return Vector{{q, {row.query}}, scores.column(row.head)};
    });
    b.ifThen(b.less(firstTile, endTile),
             [&] { copyKeys(tile, work, shared.keys, firstTile, /*values=*/false); });
    return shared;
  }

  /// Behind the last key it is that again.
  std::pair<Place, Place> keyOf(const Work &work, Value j) {
    return work.keys.find(b.min(j, b.sub(work.keys.count, b.index(1))));
  }

  void copyKeys(const AttentionTile &tile, const Work &work, Value to, Value number, bool values) {
    Value first = b.mul(number, tile.shape.columns), column = scores.column(work.kvHead);
    auto find = [&](Value i) {
      auto [key, value] = keyOf(work, b.add(first, i));
      return Vector{values ? value : key, column};
    };
    tile.copy(to, b.index(0), tile.shape.columns, find);
  }

  /// Scores of the thread's places in a tile of keys.
  Values scoresOf(const AttentionTile &tile, const Work &work, const Shared &shared, Value number) {
    Values values = tile.products(shared.queries, shared.keys, b.index(0));
    Value first = b.mul(number, tile.shape.columns), none = lowest(b);
    int64_t columns = tile.shape.columnsOfThread();
    for (int64_t j = 0; j < columns; ++j) {
      Value key = b.add(first, tile.column(j));
      for (auto [i, row] : llvm::enumerate(work.rows)) {
        Value &value = values[static_cast<int64_t>(i) * columns + j];
        Value distance = b.sub(key, row.place);
        Value score = scores.ofProduct(value, row.query, row.head, Value(), distance);
        Value seen =
            b.both(b.less(key, row.end), b.compare(arith::CmpIPredicate::sge, key, row.from));
        value = b.select(seen, score, none);
      }
    }
    return values;
  }

  /// What values are weighted by, which the sum of weights is not of; null: f32.
  FloatType rounding() const { return scores.options.getRounding(); }

  /// What values are weighted by: some are dropped, which the sum of weights has.
  void drop(const AttentionTile &tile, const Work &work, Value number, Values &weights) {
    if (!dropoutKey)
      return;
    constexpr int64_t drawn = 4; // columns of a draw
    double rate = scores.options.getDropout().convertToDouble();
    int64_t columns = tile.shape.columnsOfThread();
    for (auto [i, row] : llvm::enumerate(work.rows)) {
      DropoutFactors factors{b, dropoutKey, rate, b.add(row.head, 1)};
      for (int64_t j = 0; j < columns; j += drawn) {
        Value group = b.add(b.mul(number, columns / drawn), j / drawn);
        Values drawnFactors = factors.draw(row.query, group, tile.column(0));
        for (int64_t c = 0; c < drawn; ++c) {
          Value &weight = weights[static_cast<int64_t>(i) * columns + j + c];
          weight = b.mulf(weight, drawnFactors[c]);
        }
      }
    }
  }

  /// The softmax of the tiles `[from, end)`: of each row the highest score, the sum of weights,
  /// and the weighted values. Up to `last` keys are copied ahead.
  Values attend(const AttentionTile &tile, const Work &work, const Shared &shared, Value from,
                Value end, Value last) {
    int64_t rows = tile.shape.rowsOfThread, columns = tile.shape.columnsOfThread();
    Values none(rows, lowest(b));
    none.append(rows + rows * tile.shape.numbersOfThread(), b.scalar(0));
    return b.loop(from, end, none, [&](Value number, ValueRange before) {
      waitForCopies(b);
      barrier(b); // keys are there, values are read
      copyKeys(tile, work, shared.values, number, /*values=*/true);
      Values weights = scoresOf(tile, work, shared, number), next(before);
      for (int64_t i = 0; i < rows; ++i) {
        auto max = [&](Value x, Value y) { return b.maxf(x, y); };
        auto sum = [&](Value x, Value y) { return b.addf(x, y); };
        MutableArrayRef<Value> ofRow = MutableArrayRef(weights).slice(i * columns, columns);
        Value highest = tile.overRow(ofRow, max);
        highest = b.maxf(before[i], rounding() ? logOfPower(b, highest) : highest);
        Value shift = shiftOf(b, highest);
        Value shrink = exp(b, b.subf(before[i], shift));
        for (Value &weight : ofRow)
          weight = exp(b, b.subf(weight, shift));
        next[i] = highest;
        next[rows + i] = math::FmaOp::create(b, before[rows + i], shrink, tile.overRow(ofRow, sum));
        for (Value &weighted : sumsOf(tile, next, i))
          weighted = b.mulf(weighted, shrink);
      }
      drop(tile, work, number, weights);
      for (int64_t i = 0; i < rows * columns; ++i)
        tile.putWeight(roundTo(b, rounding(), weights[i]), shared.weights, i / columns,
                       i % columns);
      waitForCopies(b);
      barrier(b); // values and weights are there, keys are read
      Value following = b.add(number, 1);
      b.ifThen(b.less(following, last),
               [&] { copyKeys(tile, work, shared.keys, following, /*values=*/false); });
      Values sums = tile.addWeighted(ArrayRef(next).drop_front(2 * rows), shared.weights,
                                     shared.values, b.index(0));
      llvm::copy(sums, next.begin() + 2 * rows);
      return next;
    });
  }

  /// The weighted values of a row, of what `attend` returns.
  static MutableArrayRef<Value> sumsOf(const AttentionTile &tile, Values &all, int64_t i) {
    int64_t numbers = tile.shape.numbersOfThread();
    return MutableArrayRef(all).slice(2 * tile.shape.rowsOfThread + i * numbers, numbers);
  }

  void emitTile(const AttentionTile &tile, const SequenceTile &place, Value kvHead) {
    Work work = workOf(tile, place, kvHead);
    int64_t rows = tile.shape.rowsOfThread, tiles = target.attentionSpan / tile.shape.columns;
    auto [from, end] = tilesOfKeys(tile.shape, work, Value(), Value());
    Shared shared = begin(tile, work, from, end);
    Values zeros(tile.shape.numbersOfThread(), b.scalar(0));
    for (const QueryRow &row : work.rows)
      b.ifThen(row.isThere, [&] { tile.store(zeros, resultOf(row)); });
    Values none(rows, lowest(b));
    none.append(rows, b.scalar(0));
    Value spans = b.div(b.add(end, tiles - 1), tiles);
    Values done =
        b.loop(b.div(from, tiles), spans, none,
               [&, from = from, end = end](Value span, ValueRange before) {
                 Value first = b.mul(span, tiles);
                 Values ofSpan = attend(tile, work, shared, b.max(from, first),
                                        b.min(end, b.add(first, tiles)), end);
                 Values next(before);
                 for (auto [i, row] : llvm::enumerate(work.rows)) {
                   Joined joined(b, before[i], before[rows + i], ofSpan[i], ofSpan[rows + i]);
                   next[i] = joined.highest;
                   next[rows + i] = joined.total;
                   ArrayRef<Value> sums = sumsOf(tile, ofSpan, i);
                   b.ifThen(row.isThere, [&] {
                     tile.update(resultOf(row),
                                 [&](Value old, int64_t n) { return joined.sum(b, old, sums[n]); });
                   });
                 }
                 return next;
               });
    waitForCopies(b); // no key is seen: of the queries
    for (auto [i, row] : llvm::enumerate(work.rows)) {
      Value highest = done[i], total = done[rows + i];
      b.ifThen(row.isThere, [&] {
        tile.update(resultOf(row), [&](Value sum, int64_t) { return normalize(b, sum, total); });
      });
      if (!logSumExp)
        continue;
      Value isFirst = b.equal(tile.column(0), b.index(0));
      b.ifThen(b.both(row.isThere, isFirst), [&] {
        Value sum = b.addf(highest, math::LogOp::create(b, total));
        sum = b.select(isSame(b, total, b.scalar(0)), lowest(b), sum);
        b.store(sum, logSumExp, {row.query, row.head});
      });
    }
  }

  Vector resultOf(const QueryRow &row) { return {{result, {row.query}}, scores.column(row.head)}; }

  void emitSpan(const AttentionTile &tile, const SequenceTile &place, Value kvHead, Value span,
                Value sums, Value totals) {
    Work work = workOf(tile, place, kvHead);
    int64_t rows = tile.shape.rowsOfThread;
    Value first = b.mul(span, target.attentionSpan);
    auto [from, end] = tilesOfKeys(tile.shape, work, first, b.add(first, target.attentionSpan));
    b.ifThen(b.less(from, end), [&, from = from, end = end] {
      Shared shared = begin(tile, work, from, end);
      Values done = attend(tile, work, shared, from, end, end);
      for (auto [i, row] : llvm::enumerate(work.rows))
        b.ifThen(row.isThere, [&] {
          tile.store(sumsOf(tile, done, i),
                     {{sums, {place.sequence, span}}, scores.column(row.head)});
          b.ifThen(b.equal(tile.column(0), b.index(0)), [&] {
            Value column = b.mul(row.head, 2);
            b.store(done[i], totals, {place.sequence, span, column});
            b.store(done[rows + i], totals, {place.sequence, span, b.add(column, 1)});
          });
        });
    });
  }

  /// A number of the result.
  void joinSpans(const SequenceTile &place, Value column, Value sums, Value totals) {
    Value head = b.div(column, scores.headDim), at = b.mul(head, 2);
    Value count = keysOf(place.sequence).count;
    auto [from, end] = scores.keysOf(b.sub(count, b.index(1)), count);
    end = b.max(end, b.index(0));
    int64_t span = target.attentionSpan;
    Values none = {lowest(b), b.scalar(0), b.scalar(0)};
    Values done = b.loop(b.div(from, span), b.div(b.add(end, span - 1), span), none,
                         [&](Value i, ValueRange before) {
                           auto load = [&](Value from, Value column) {
                             return b.load(from, {place.sequence, i, column});
                           };
                           Joined joined(b, before[0], before[1], load(totals, at),
                                         load(totals, b.add(at, 1)));
                           Value sum = joined.sum(b, before[2], load(sums, column));
                           return Values{joined.highest, joined.total, sum};
                         });
    b.store(normalize(b, done[2], done[1]), result, {place.firstRow, column});
  }

  Loops &b;
  AttentionScores scores;
  Value q, cu, result, logSumExp, dropoutKey; // the last two may be null
  KeysOf keysOf;
  FloatType ofKeys; // and values
  const GpuTarget &target;
};

template <typename Op>
std::optional<TileShape> chooseForward(const Loops &b, Op op, ValueRange copied) {
  if (!b.target)
    return std::nullopt;
  TileNeeds needs{/*rowVectors=*/1, /*columnVectors=*/2, /*weights=*/1, /*sums=*/1,
                  numbersOfOptions(op)};
  return chooseTile(*b.target, rowWidth(op.getQ()) / int64_t(op.getNumHeads()), copied, needs);
}

} // namespace

std::optional<TileShape> transformer::simt::chooseTile(const GpuTarget &target, int64_t headDim,
                                                       ValueRange copied, const TileNeeds &needs) {
  if (!llvm::all_of(copied, [&](Value buffer) { return hasFours(buffer, headDim); }))
    return std::nullopt;
  TileShape shape{target.attentionWarps, target.attentionRowsOfThread, target.attentionKeys,
                  headDim};
  for (; shape.rowsOfThread; shape.rowsOfThread /= 2) {
    int64_t bytes = needs.rowVectors * shape.vectorBytes(shape.rows()) +
                    needs.columnVectors * shape.vectorBytes(shape.columns) +
                    needs.weights * shape.weightBytes();
    int64_t numbers = needs.sums * shape.numbersOfThread() + needs.otherNumbers;
    if (bytes <= target.sharedMemoryBytes &&
        shape.rowsOfThread * numbers <= target.attentionNumbers)
      return shape;
  }
  return std::nullopt;
}

bool transformer::simt::emitAttentionBlocks(Loops &b, kernel::AttentionOp op, KeysOf keysOf) {
  std::optional<TileShape> shape = chooseForward(b, op, {op.getQ(), op.getK(), op.getV()});
  if (!shape || op.getColumns()) // scores of distances: registers spill
    return false;
  Value factor = op.getScaleFactor().empty() ? Value() : op.getScaleFactor().front();
  AttentionBlocks(b, op, op.getCuQueries(), factor, keysOf, b.getF32Type())
      .emitTiles(*shape, /*split=*/false);
  return true;
}

bool transformer::simt::emitAttentionBlocks(Loops &b, kernel::PagedAttentionOp op, KeysOf keysOf) {
  std::optional<TileShape> shape = chooseForward(b, op, {op.getQ(), op.getCache()});
  if (!shape)
    return false;
  auto ofKeys = cast<FloatType>(getElementTypeOrSelf(op.getCache()));
  AttentionBlocks nest(b, op, op.getCu(), op.getScaleFactor(), keysOf, ofKeys);
  nest.emitTiles(*shape, /*split=*/true);
  TileShape ofToken = *shape;
  ofToken.warps = ofToken.rowsOfThread = 1;
  int64_t positions = cast<MemRefType>(op.getCache().getType()).getDimSize(1) / 2;
  nest.emitSpans(ofToken, b.mul(b.dim(op.getTable(), 1), positions));
  return true;
}
