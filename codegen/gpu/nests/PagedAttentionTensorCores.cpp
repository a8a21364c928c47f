//===- PagedAttentionTensorCores.cpp - attention to a cache of 16 bits ----===//
//
// As in AttentionTensorCores.cpp, with keys and values in pages. A tile of keys lies in one page;
// its softmax and its weighted values are made alone and then joined with those of the tiles before
// it, in order. So it makes no difference whether a block goes through the tiles, for sequences
// with many new tokens, or each has a block of its own and the joining is another kernel's, for
// those with one, whose time is that of reading the cache: a row gets the same bits
// (Flash-Decoding, Dao et al. 2023).
//
//===----------------------------------------------------------------------===//
#include "codegen/gpu/nests/AttentionBlocks.h"
#include "codegen/gpu/nests/AttentionMmaTile.h"
#include "codegen/gpu/nests/Blocks.h"
#include "codegen/gpu/nests/Kernels.h"
#include "codegen/gpu/nests/ProductOperands.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

namespace {

Value lowest(Loops &b) { return b.scalar(-std::numeric_limits<float>::infinity()); }
Value isSame(Loops &b, Value x, Value y) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x, y);
}
/// What scores are lessened by: 0 where there is none.
Value shiftOf(Loops &b, Value highest) {
  return b.select(isSame(b, highest, lowest(b)), b.scalar(0), highest);
}

/// Of a row, of some keys: the whole number that scores, powers of 2, are lessened by, and the sum
/// of weights.
struct Softmax {
  Value highest, total;
};

/// A softmax of more keys. What the sums of both parts are multiplied by are powers of 2.
struct Joined {
  Softmax all;
  Value before, added;
  Joined(Loops &b, const Softmax &earlier, const Softmax &more) {
    all.highest = b.maxf(earlier.highest, more.highest);
    Value shift = shiftOf(b, all.highest);
    before = exp2(b, b.subf(earlier.highest, shift));
    added = exp2(b, b.subf(more.highest, shift));
    all.total = sum(b, earlier.total, more.total);
  }
  Value sum(Loops &b, Value ofEarlier, Value ofMore) const {
    return math::FmaOp::create(b, ofEarlier, before, b.mulf(ofMore, added));
  }
};

/// What weighted values are multiplied by in the end; 0 where no key is seen.
Value inverse(Loops &b, Value total) {
  return b.select(isSame(b, total, b.scalar(0)), b.scalar(0), b.divf(b.scalar(1), total));
}

int64_t positionsOf(kernel::PagedAttentionOp op) {
  return cast<ShapedType>(op.getCache().getType()).getDimSize(1) / 2;
}

class PagedAttention {
public:
  PagedAttention(Loops &b, kernel::PagedAttentionOp op, MmaTileShape shape)
      : b(b), scores(b, op, op.getScaleFactor()), q(op.getQ()), cache(op.getCache()),
        cu(op.getCu()), table(op.getTable()), lengths(op.getLengths()), result(op.getOuts()[0]),
        type(halfType(cache)), positions(positionsOf(op)), columns(shape.columns), shape(shape) {}

  /// A block a tile of a sequence's rows, of sequences that have more than one token.
  void emitTiles() {
    int64_t group = scores.group();
    Value tiles = countTiles(b, b.dim(q, 0), cu, group, shape.rows());
    blocks(b, {tiles, b.index(scores.kvHeads)}, shape.threads(), [&](ValueRange at, Value thread) {
      // Those that see most keys begin first.
      bool fromLast = scores.options.getCausal();
      Value number = fromLast ? b.sub(b.sub(tiles, b.index(1)), at[0]) : at[0];
      SequenceTile place = findTileByWarp(b, number, thread, cu, group, shape.rows());
      Value isThere = b.less(place.first, b.mul(place.tokens, group));
      b.ifThen(b.both(isThere, b.less(b.index(1), place.tokens)), [&] {
        AttentionMmaTile tile(b, shape, type, thread);
        emitTile(tile, thread, workOf(tile, place, at[1]));
      });
    });
  }

  /// A warp a tile of keys and some heads, of sequences that have one token, and a thread some
  /// numbers of the result.
  void emitTokens() {
    shape.warps = 1;
    shape.rowsOfWarp = mmaRows;
    Value sequences = b.sub(b.dim(cu, 0), b.index(1));
    Value tiles = b.mul(b.dim(table, 1), positions / columns);
    constexpr int64_t dynamic = ShapedType::kDynamic;
    Parts parts;
    parts.sums = b.buffer({dynamic, dynamic, scores.heads * scores.headDim}, b.getF32Type(),
                          {sequences, tiles});
    parts.softmaxes =
        b.buffer({dynamic, dynamic, scores.heads * 2}, b.getF32Type(), {sequences, tiles});
    Value rows = b.index(llvm::divideCeil(scores.group(), shape.rows()));
    blocks(b, {sequences, b.index(scores.kvHeads), rows, tiles}, shape.threads(),
           [&](ValueRange at, Value thread) {
             SequenceTile place = onlyToken(at[0]);
             place.first = b.mul(at[2], shape.rows());
             auto [from, end] = tilesOfToken(place.sequence);
             Value isSeen =
                 b.both(b.compare(arith::CmpIPredicate::sge, at[3], from), b.less(at[3], end));
             b.ifThen(b.both(isSeen, b.equal(place.tokens, b.index(1))), [&] {
               AttentionMmaTile tile(b, shape, type, thread);
               emitPart(tile, thread, workOf(tile, place, at[1]), at[3], parts);
             });
           });
    int64_t width = scores.headDim % 4 == 0 ? 4 : scores.headDim % 2 == 0 ? 2 : 1;
    b.threads({sequences, b.index(scores.heads * scores.headDim / width)}, [&](ValueRange at) {
      SequenceTile place = onlyToken(at[0]);
      b.ifThen(b.equal(place.tokens, b.index(1)),
               [&] { joinParts(place, b.mul(at[1], width), width, parts); });
    });
  }

private:
  /// The block's part of the work.
  struct Work {
    SequenceTile place;
    Value kvHead, keys;
    SmallVector<QueryRow> rows; // of the thread
  };
  /// What tiles of keys give, by sequence and tile: weighted values, and a softmax a head.
  struct Parts {
    Value sums, softmaxes;
  };

  SequenceTile onlyToken(Value sequence) {
    Value first = b.load(cu, sequence);
    return {sequence, Value(), first, b.sub(b.load(cu, b.add(sequence, 1)), first)};
  }

  QueryRow rowOf(const Work &work, Value number) {
    return queryRow(scores, work.place, work.keys, work.kvHead, b.add(work.place.first, number));
  }

  Work workOf(const AttentionMmaTile &tile, const SequenceTile &place, Value kvHead) {
    Work work{place, kvHead, b.loadIndex(lengths, place.sequence), {}};
    for (int64_t i = 0; i < shape.rowsOfThread(); ++i)
      work.rows.push_back(rowOf(work, tile.row(i)));
    return work;
  }

  /// The tiles `[first, second)` of the keys `[from, end)`.
  std::pair<Value, Value> tilesOf(Value from, Value end) {
    Value begin = b.div(from, columns);
    end = b.max(end, b.index(0));
    return {begin, b.max(begin, b.div(b.add(end, columns - 1), columns))};
  }

  /// Those that a sequence's last token sees.
  std::pair<Value, Value> tilesOfToken(Value sequence) {
    Value keys = b.loadIndex(lengths, sequence);
    auto [from, end] = scores.keysOf(b.sub(keys, b.index(1)), keys);
    return tilesOf(from, end);
  }

  Value pageOf(const Work &work, Value number) {
    return b.loadIndex(table, {work.place.sequence, b.div(number, positions / columns)});
  }

  /// Begins to copy the keys of a tile, which lies in `page`, or its values.
  void copyKeys(const AttentionMmaTile &tile, const Work &work, Value to, Value number, Value page,
                bool values) {
    Value inPage = b.mul(b.rem(number, positions / columns), columns);
    Value behind = b.sub(b.add(inPage, values ? positions : 0), b.mul(number, columns));
    tile.copyColumns(to, b.index(0), number, work.keys, cache, [&](Value key) {
      return Vector{{cache, {page, b.add(key, behind)}}, scores.column(work.kvHead)};
    });
  }

  void copyQueries(const AttentionMmaTile &tile, const Work &work, Value to) {
    tile.copy(to, b.index(0), shape.rows(), q, /*often=*/false, [&](Value i) {
      QueryRow row = rowOf(work, i);
      return Vector{{q, {row.query}}, scores.column(row.head)};
    });
  }

  /// Whether scores are products times one positive number, which is left for later.
  bool areProducts() const { return !scores.bias && !scores.factor && scores.scaleAttribute > 0; }

  /// Of products, scores of the thread's places in a tile of keys, as powers of 2.
  void finishScores(const AttentionMmaTile &tile, const Work &work, Value number, Values &values) {
    Value first = b.mul(number, columns);
    if (!areProducts())
      for (auto [n, value] : llvm::enumerate(values)) {
        auto [i, column] = AttentionMmaTile::placeOf(static_cast<int64_t>(n), columns);
        const QueryRow &row = work.rows[i];
        Value distance = b.sub(b.add(b.add(first, tile.column()), column), row.place);
        value = scores.ofProduct(value, row.query, row.head, Value(), distance);
        value = b.mulf(value, b.scalar(log2e));
      }
    SmallVector<ColumnRange> seen;
    for (const QueryRow &row : work.rows)
      seen.push_back({row.from, row.end});
    tile.mask(values, seen, /*begins=*/scores.options.getWindow() != 0, first, lowest(b));
  }

  /// Of scores; the softmax of each of the thread's rows.
  SmallVector<Softmax> makeWeights(const AttentionMmaTile &tile, Values &weights) {
    Value scale = areProducts() ? b.mulf(scores.scale(), b.scalar(log2e)) : Value();
    SmallVector<Softmax> softmaxes;
    for (int64_t i = 0; i < shape.rowsOfThread(); ++i) {
      Value highest, sum;
      auto ofRow = [&](function_ref<void(Value &)> body) {
        for (auto [n, weight] : llvm::enumerate(weights))
          if (AttentionMmaTile::placeOf(static_cast<int64_t>(n), columns).first == i)
            body(weight);
      };
      ofRow([&](Value &score) { highest = highest ? b.maxf(highest, score) : score; });
      highest = tile.overRow(highest, [&](Value x, Value y) { return b.maxf(x, y); });
      highest = math::CeilOp::create(b, scale ? b.mulf(highest, scale) : highest);
      Value lessened = b.subf(b.scalar(0), shiftOf(b, highest));
      ofRow([&](Value &score) {
        score = exp2(b, scale ? math::FmaOp::create(b, score, scale, lessened).getResult()
                              : b.addf(score, lessened));
        sum = sum ? b.addf(sum, score) : score;
      });
      sum = tile.overRow(sum, [&](Value x, Value y) { return b.addf(x, y); });
      softmaxes.push_back({highest, sum});
    }
    return softmaxes;
  }

  /// For each of the thread's numbers, 16 columns of the warp's 16 rows at once: its place among
  /// the sums, and the sum of the tile's weighted values.
  void weigh(Value thread, ValueRange weights, Value values,
             function_ref<void(int64_t n, Value sum)> use) {
    constexpr int64_t two = 2 * sumsOfMma; // products of 8 columns each
    // Their sums lie as the rows of the next product.
    SmallVector<Values> rows(columns / mmaDepth);
    for (int64_t at = 0; at < shape.numProducts(); at += 2)
      rows[at / two].push_back(packHalves(b, type, weights[at], weights[at + 1]));
    Value lane = b.rem(thread, warpSize), number = b.div(lane, matrix);
    Value down = b.add(b.mul(b.rem(number, 2), matrix), b.rem(lane, matrix));
    Value along = b.mul(b.div(number, 2), matrix);
    for (int64_t column = 0; column < shape.depth(); column += 2 * mmaColumns) {
      Values sums(two, b.scalar(0));
      for (auto [vector, x] : llvm::enumerate(rows)) {
        Values place = {b.add(down, static_cast<int64_t>(vector) * mmaDepth), b.add(along, column)};
        Values y = loadMatrices(b, values, place, /*transpose=*/true);
        MutableArrayRef<Value> both(sums);
        multiply(b, type, x, ArrayRef(y).take_front(2), both.take_front(sumsOfMma));
        multiply(b, type, x, ArrayRef(y).drop_front(2), both.drop_front(sumsOfMma));
      }
      for (auto [e, sum] : llvm::enumerate(sums))
        use(column / mmaColumns * sumsOfMma + static_cast<int64_t>(e), sum);
    }
  }

  void emitTile(const AttentionMmaTile &tile, Value thread, const Work &work) {
    int64_t rows = shape.rowsOfThread();
    auto [from, end] =
        tilesOf(rowOf(work, b.index(0)).from, rowOf(work, b.index(shape.rows() - 1)).end);
    Value queries = tile.vectors(shape.rows()), keys = tile.vectors(columns);
    Value values = tile.vectors(columns);
    copyQueries(tile, work, queries);
    Values begun = b.ifElse(
        b.less(from, end),
        [&, from = from] {
          Value page = pageOf(work, from);
          copyKeys(tile, work, keys, from, page, /*values=*/false);
          return Values{page};
        },
        [&] { return Values{b.index(0)}; });
    waitForCopies(b);
    barrier(b);
    // As registers, where sums leave enough of them: else nearly all are taken.
    bool keepsQueries = 2 * shape.numSums() <= b.target->tensorAttentionSums;
    Values loaded = keepsQueries ? tile.loadRows(queries) : Values(), before(begun);
    before.append(rows, lowest(b));
    before.append(rows + shape.numSums(), b.scalar(0));
    Values done = b.loop(from, end, before, [&, end = end](Value number, ValueRange state) {
      waitForCopies(b);
      barrier(b); // keys are there, values are read
      copyKeys(tile, work, values, number, state[0], /*values=*/true);
      Value following = b.add(number, 1), hasNext = b.less(following, end);
      Value page = pageOf(work, b.min(following, b.sub(end, b.index(1)))); // while others multiply
      Values weights = tile.products(queries, loaded, keys, b.index(0)), next(state);
      finishScores(tile, work, number, weights);
      SmallVector<Softmax> softmaxes = makeWeights(tile, weights);
      SmallVector<Joined> joined;
      for (int64_t i = 0; i < rows; ++i) {
        joined.emplace_back(b, Softmax{state[1 + i], state[1 + rows + i]}, softmaxes[i]);
        next[1 + i] = joined.back().all.highest;
        next[1 + rows + i] = joined.back().all.total;
      }
      waitForCopies(b);
      barrier(b); // values are there, keys are read
      b.ifThen(hasNext, [&] { copyKeys(tile, work, keys, following, page, /*values=*/false); });
      next[0] = page;
      weigh(thread, weights, values, [&](int64_t n, Value sum) {
        Value &all = next[1 + 2 * rows + n];
        all = joined[AttentionMmaTile::placeOf(n, shape.depth()).first].sum(b, all, sum);
      });
      return next;
    });
    for (int64_t i = 0; i < rows; ++i) {
      // Hidden: where it is written need not be known during the loop.
      QueryRow row = rowOf(work, hidden(b, tile.row(i)));
      Value factor = inverse(b, done[1 + rows + i]);
      b.ifThen(row.isThere, [&] {
        Vector to{{result, {row.query}}, scores.column(row.head)};
        tile.store(ArrayRef(done).drop_front(1 + 2 * rows), i, factor, to);
      });
    }
  }

  /// All that the warp reads is on its way at once.
  void emitPart(const AttentionMmaTile &tile, Value thread, const Work &work, Value number,
                const Parts &parts) {
    Value queries = tile.vectors(shape.rows()), keys = tile.vectors(columns);
    Value values = tile.vectors(columns), page = pageOf(work, number);
    copyQueries(tile, work, queries);
    copyKeys(tile, work, keys, number, page, /*values=*/false);
    commitCopies(b);
    copyKeys(tile, work, values, number, page, /*values=*/true);
    commitCopies(b);
    waitForGroups(b, /*pending=*/1);
    barrier(b);
    Values weights = tile.products(queries, tile.loadRows(queries), keys, b.index(0));
    finishScores(tile, work, number, weights);
    SmallVector<Softmax> softmaxes = makeWeights(tile, weights);
    waitForGroups(b, /*pending=*/0);
    barrier(b);
    Values sums(shape.numSums());
    weigh(thread, weights, values, [&](int64_t n, Value sum) { sums[n] = sum; });
    for (auto [i, row] : llvm::enumerate(work.rows))
      b.ifThen(row.isThere, [&, i = static_cast<int64_t>(i)] {
        Values at = {work.place.sequence, number};
        tile.store(sums, i, b.scalar(1), {{parts.sums, at}, scores.column(row.head)});
        b.ifThen(b.equal(tile.column(), b.index(0)), [&] {
          at.push_back(b.mul(row.head, 2));
          storeVector(b, {softmaxes[i].highest, softmaxes[i].total}, parts.softmaxes, at);
        });
      });
  }

  /// `width` neighbours of the result. Parts are read ahead of being joined, as one alone is waited
  /// for longer than it takes.
  void joinParts(const SequenceTile &place, Value column, int64_t width, const Parts &parts) {
    constexpr int64_t ahead = 4;
    Value head = b.mul(b.div(column, scores.headDim), 2);
    auto [first, end] = tilesOfToken(place.sequence);
    Values none = {lowest(b)};
    none.append(1 + width, b.scalar(0));
    Value steps = b.div(b.add(b.sub(end, first), ahead - 1), ahead);
    Values done = b.loop(
        b.index(0), steps, none, [&, first = first, end = end](Value step, ValueRange before) {
          struct Part {
            Softmax softmax;
            Values sums;
          };
          SmallVector<Part> read;
          for (int64_t i = 0; i < ahead; ++i) {
            Value number = b.add(b.add(first, b.mul(step, ahead)), i);
            Value last = b.min(number, b.sub(end, b.index(1)));
            Values softmax = loadVector(b, parts.softmaxes, {place.sequence, last, head}, 2);
            Value highest =
                b.select(b.less(number, end), softmax[0], lowest(b)); // else adds nothing
            read.push_back({{highest, softmax[1]},
                            loadVector(b, parts.sums, {place.sequence, last, column}, width)});
          }
          Values next(before);
          for (const Part &part : read) {
            Joined joined(b, {next[0], next[1]}, part.softmax);
            next[0] = joined.all.highest;
            next[1] = joined.all.total;
            for (int64_t n = 0; n < width; ++n)
              next[2 + n] = joined.sum(b, next[2 + n], part.sums[n]);
          }
          return next;
        });
    Value factor = inverse(b, done[1]);
    Values values;
    for (int64_t n = 0; n < width; ++n)
      values.push_back(b.mulf(done[2 + n], factor));
    storeNumbers(values, {place.firstRow, column});
  }

  /// Of the result, which may be of 16 bits.
  void storeNumbers(Values values, const Values &at) {
    if (FloatType half = halfType(result))
      for (size_t n = 0; n < values.size(); n += 2) {
        Value second = values.size() > 1 ? values[n + 1] : values[n];
        Values two = toHalves(b, half, values[n], second);
        std::copy_n(two.begin(), std::min<size_t>(2, values.size()), values.begin() + n);
      }
    auto width = static_cast<int64_t>(values.size());
    if (alignedNumbers(result, width) == width)
      return storeVector(b, values, result, at);
    for (int64_t n = 0; n < width; ++n)
      b.store(values[n], result, {at[0], b.add(at[1], n)});
  }

  Loops &b;
  AttentionScores scores;
  Value q, cache, cu, table, lengths, result;
  FloatType type;
  int64_t positions, columns; // of a page; of a tile, which a page is some of
  MmaTileShape shape;
};

/// Nothing where tiles of keys would not lie in one page each, or a thread's sums are so many that
/// registers spill. Pages, and what joins tiles, take those that options of attention would.
std::optional<MmaTileShape> shapeFor(kernel::PagedAttentionOp op, const GpuTarget &target) {
  int64_t width = cast<ShapedType>(op.getQ().getType()).getDimSize(1);
  std::optional<MmaTileShape> shape =
      chooseMmaTile(target, width / static_cast<int64_t>(op.getNumHeads()), /*hasOptions=*/true);
  bool fits = shape && shape->numSums() <= target.tensorAttentionSums &&
              positionsOf(op) % shape->columns == 0;
  return fits ? shape : std::nullopt;
}

} // namespace

bool transformer::simt::hasTensorCoreAttention(kernel::PagedAttentionOp op,
                                               const GpuTarget *target) {
  return !target || shapeFor(op, *target);
}

bool transformer::simt::emitAttentionTensorCores(Loops &b, kernel::PagedAttentionOp op) {
  if (!b.target || !halfType(op.getQ()))
    return false;
  PagedAttention nest(b, op, *shapeFor(op, *b.target));
  nest.emitTiles();
  nest.emitTokens();
  return true;
}
