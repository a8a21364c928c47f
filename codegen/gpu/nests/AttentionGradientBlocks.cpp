//===- AttentionGradientBlocks.cpp - backward of attention by blocks ------===//
//
// The next tile is on its way while one is multiplied, where there is memory for two.
//
//===----------------------------------------------------------------------===//
#include "codegen/gpu/nests/AttentionGradientNest.h"
#include "codegen/gpu/nests/Blocks.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

namespace {

/// A tile and how many of the other side's are in memory at once.
struct Plan {
  TileShape shape;
  int64_t slots;
};

/// `sums` vectors for each row.
std::optional<Plan> choosePlan(const Loops &b, kernel::AttentionGradientOp op, int64_t sums) {
  int64_t headDim = rowWidth(op.getQ()) / int64_t(op.getNumHeads());
  for (int64_t slots : {2, 1}) {
    TileNeeds needs{/*rowVectors=*/2, /*columnVectors=*/2 * slots, /*weights=*/sums, sums,
                    numbersOfOptions(op)};
    if (std::optional<TileShape> shape = chooseTile(
            *b.target, headDim, {op.getQ(), op.getK(), op.getV(), op.getDresult()}, needs))
      return Plan{*shape, slots};
  }
  return std::nullopt;
}

class GradientBlocks : public AttentionGradientNest {
public:
  // By warp, it would need more registers than there are.
  GradientBlocks(Loops &b, kernel::AttentionGradientOp op, const GradientBuffers &buffers)
      : AttentionGradientNest(b, op, buffers, /*byWarp=*/false) {}

  void emitQueries(const Plan &plan) {
    const TileShape &shape = plan.shape;
    forTilesOfQueries(shape.rows(), shape.threads(), [&](const Work &work, Value thread) {
      emitQueryTile(AttentionTile(b, shape, thread), plan.slots, thread, work);
    });
  }

  void emitKeys(const Plan &plan) {
    const TileShape &shape = plan.shape;
    forTilesOfKeys(shape.rows(), shape.threads(), [&](const Work &work, Value thread) {
      emitKeyTile(AttentionTile(b, shape, thread), plan.slots, work);
    });
  }

private:
  /// Vectors of either side, on their way from two buffers.
  void copyQueries(const AttentionTile &tile, const Work &work, Value q, Value dresult, Value place,
                   Value first, int64_t count) {
    for (auto [to, from] :
         {std::pair(q, Value(op.getQ())), std::pair(dresult, Value(op.getDresult()))})
      tile.copy(to, place, count, [&, from = from](Value i) {
        QueryRow row = rowOf(work, b.add(first, i));
        return Vector{{from, {row.query}}, scores.column(row.head)};
      });
  }
  void copyKeys(const AttentionTile &tile, const Work &work, Value k, Value v, Value place,
                Value first, int64_t count) {
    for (auto [to, from] : {std::pair(k, Value(op.getK())), std::pair(v, Value(op.getV()))})
      tile.copy(to, place, count, [&, from = from](Value i) {
        return Vector{{from, {keyOf(work, b.add(first, i))}}, scores.column(work.kvHead)};
      });
  }

  /// Of a row of queries: what its scores' probabilities and gradients follow from.
  struct Saved {
    Value sum, delta;
  };
  Saved savedOf(const QueryRow &row) {
    Values at = {row.query, row.head};
    return {b.load(op.getLogSumExp(), at), b.load(buffers.deltas, at)};
  }

  /// What a value is weighted by, and the gradient of a score, by the products of query and key and
  /// of the result's gradient and the value. `factor` is dropout's, or null.
  std::pair<Value, Value> gradientOf(const Work &work, const QueryRow &row, const Saved &saved,
                                     Value key, Value isThere, Value product, Value dweight,
                                     Value factor) {
    Value distance = b.sub(key, row.place);
    Value score = scores.ofProduct(product, row.query, row.head, Value(), distance);
    Value seen = b.both(b.less(key, row.end), b.compare(arith::CmpIPredicate::sge, key, row.from));
    seen = isThere ? b.both(seen, isThere) : seen;
    Value p = math::ExpOp::create(b, b.subf(score, saved.sum)), none = b.scalar(0);
    p = b.select(seen, p, none);
    Value kept = factor ? b.mulf(p, factor) : p;
    dweight = factor ? b.mulf(dweight, factor) : dweight;
    return {kept, b.select(seen, b.mulf(p, b.subf(dweight, saved.delta)), none)};
  }

  void emitQueryTile(const AttentionTile &tile, int64_t slots, Value thread, const Work &work) {
    const TileShape &shape = tile.shape;
    int64_t rows = shape.rowsOfThread, columns = shape.columnsOfThread();
    Value q = tile.vectors(shape.rows()), dresult = tile.vectors(shape.rows());
    Value k = tile.vectors(slots * shape.columns), v = tile.vectors(slots * shape.columns);
    Value weights = tile.weights();
    copyQueries(tile, work, q, dresult, b.index(0), work.queries.first, shape.rows());
    SmallVector<QueryRow> own;
    SmallVector<Saved> saved;
    for (int64_t i = 0; i < rows; ++i) {
      own.push_back(rowOf(work, b.add(work.queries.first, tile.row(i))));
      saved.push_back(savedOf(own.back()));
    }
    auto [from, end] = tilesOfKeys(work, shape.rows(), shape.columns);
    clearTable(work, shape.rows(), thread);
    Values none(rows * shape.numbersOfThread() + (isSlope() ? rows : 0), b.scalar(0));
    Values sums = through(
        slots, shape.columns, from, end, none,
        [&](Value place, Value number) {
          copyKeys(tile, work, k, v, place, b.mul(number, shape.columns), shape.columns);
        },
        [&](Value place, Value number, ValueRange before) {
          Values products = tile.products(q, k, place), dweights = tile.products(dresult, v, place);
          Value first = b.mul(number, shape.columns);
          Values lengths(before.take_back(isSlope() ? rows : 0));
          for (auto [i, row] : llvm::enumerate(own)) {
            Values factors;
            for (int64_t j = 0; op.getDropoutKey() && j < columns; j += 4)
              llvm::append_range(
                  factors, dropout(row).draw(row.query, b.add(b.mul(number, columns / 4), j / 4),
                                             tile.column(0)));
            for (int64_t j = 0; j < columns; ++j) {
              int64_t at = static_cast<int64_t>(i) * columns + j;
              Value key = b.add(first, tile.column(j));
              Value ds = gradientOf(work, row, saved[i], key, Value(), products[at], dweights[at],
                                    factors.empty() ? Value() : factors[j])
                             .second;
              tile.putWeight(ds, weights, i, j);
              if (isSlope()) {
                Value length = scores.biasPlace(b.sub(key, row.place)).second;
                lengths[i] = math::FmaOp::create(b, ds, length, lengths[i]);
              }
            }
          }
          barrier(b);
          addToTable(work, shape.rows(), thread, weights, first, shape.columns);
          Values next = tile.addWeighted(before.drop_back(lengths.size()), weights, k, place);
          next.append(lengths);
          return next;
        });
    for (auto [i, row] : llvm::enumerate(own)) {
      Values ofRow(ArrayRef(sums).slice(i * shape.numbersOfThread(), shape.numbersOfThread()));
      for (Value &sum : ofRow)
        sum = b.mulf(sum, scores.scale());
      Value length;
      if (isSlope())
        length = tile.overRow(sums[sums.size() - rows + i],
                              [&](Value x, Value y) { return b.addf(x, y); });
      b.ifThen(row.isThere, [&, row = row] {
        tile.store(ofRow, {{op.getOuts()[0], {row.query}}, scores.column(row.head)});
        if (length)
          b.ifThen(b.equal(tile.column(0), b.index(0)),
                   [&] { b.store(length, buffers.dbias, {row.query, row.head}); });
      });
    }
  }

  void emitKeyTile(const AttentionTile &tile, int64_t slots, const Work &work) {
    const TileShape &shape = tile.shape;
    int64_t rows = shape.rowsOfThread, columns = shape.columnsOfThread();
    Value k = tile.vectors(shape.rows()), v = tile.vectors(shape.rows());
    Value q = tile.vectors(slots * shape.columns), dresult = tile.vectors(slots * shape.columns);
    Value weights = tile.weights(), gradients = tile.weights();
    copyKeys(tile, work, k, v, b.index(0), work.keys.first, shape.rows());
    auto [from, end] = tilesOfQueries(work, shape.rows(), shape.columns);
    int64_t numbers = rows * shape.numbersOfThread();
    Values sums = through(
        slots, shape.columns, from, end, Values(2 * numbers, b.scalar(0)),
        [&](Value place, Value number) {
          copyQueries(tile, work, q, dresult, place, b.mul(number, shape.columns), shape.columns);
        },
        [&](Value place, Value number, ValueRange before) {
          Values products = tile.products(k, q, place), dweights = tile.products(v, dresult, place);
          Value first = b.mul(number, shape.columns);
          for (int64_t j = 0; j < columns; ++j) {
            QueryRow row = rowOf(work, b.add(first, tile.column(j)));
            Saved saved = savedOf(row);
            for (int64_t i = 0; i < rows; ++i) {
              int64_t at = i * columns + j;
              Value key = b.add(work.keys.first, tile.row(i));
              Value factor = op.getDropoutKey() ? dropout(row).of(row.query, key) : Value();
              auto [kept, ds] = gradientOf(work, row, saved, key, row.isThere, products[at],
                                           dweights[at], factor);
              tile.putWeight(kept, weights, i, j);
              tile.putWeight(ds, gradients, i, j);
            }
          }
          barrier(b);
          Values next = tile.addWeighted(before.take_front(numbers), gradients, q, place);
          next.append(tile.addWeighted(before.drop_front(numbers), weights, dresult, place));
          return next;
        });
    for (int64_t i = 0; i < rows; ++i) {
      Value number = b.add(work.keys.first, tile.row(i)), column = scores.column(work.kvHead);
      auto ofRow = [&](int64_t skipped) {
        return Values(
            ArrayRef(sums).slice(skipped + i * shape.numbersOfThread(), shape.numbersOfThread()));
      };
      Values dk = ofRow(0), dv = ofRow(numbers);
      for (Value &sum : dk)
        sum = b.mulf(sum, scores.scale());
      b.ifThen(b.less(number, work.keys.tokens), [&] {
        Value key = b.add(work.keys.firstRow, number);
        tile.store(dk, {{op.getOuts()[1], {key}}, column});
        tile.store(dv, {{op.getOuts()[2], {key}}, column});
      });
    }
  }
};

} // namespace

bool transformer::simt::emitAttentionGradientBlocks(Loops &b, kernel::AttentionGradientOp op,
                                                    const GradientBuffers &buffers) {
  if (!b.target || halfType(op.getQ()) || op.getColumns()) // scores of distances: registers spill
    return false;
  std::optional<Plan> ofQueries = choosePlan(b, op, /*sums=*/1);
  std::optional<Plan> ofKeys = choosePlan(b, op, /*sums=*/2);
  if (!ofQueries || !ofKeys)
    return false;
  GradientBlocks nest(b, op, buffers);
  nest.emitDeltas();
  nest.emitQueries(*ofQueries);
  nest.emitKeys(*ofKeys);
  return true;
}
