//===- AttentionTensorCores.cpp - attention on rows of 16 bits ------------===//
//
// A block has some rows, a row a query and one of the heads that share its keys, and goes through
// the keys tile by tile, as in AttentionBlocks.cpp; both products are the tensor cores'. Scores are
// powers of 2 and are lessened by whole numbers: which tile a row's highest score is in changes
// nothing that is rounded to bf16 or f16, so weights are those of a softmax of the whole row
// (FlashAttention-2, Dao 2023).
//
//===----------------------------------------------------------------------===//
#include "codegen/gpu/nests/AttentionBlocks.h"
#include "codegen/gpu/nests/AttentionMmaTile.h"
#include "codegen/gpu/nests/Blocks.h"
#include "codegen/gpu/nests/Dropout.h"
#include "codegen/gpu/nests/Kernels.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

namespace {

constexpr double ln2 = 0.6931471805599453;

Value lowest(Loops &b) { return b.scalar(-std::numeric_limits<float>::infinity()); }
Value isSame(Loops &b, Value x, Value y) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x, y);
}

class TensorCoreAttention {
public:
  TensorCoreAttention(Loops &b, kernel::AttentionOp op, MmaTileShape shape)
      : b(b), scores(b, op, op.getScaleFactor().empty() ? Value() : op.getScaleFactor().front()),
        q(op.getQ()), k(op.getK()), v(op.getV()), cuQueries(op.getCuQueries()),
        cuKeys(op.getCuKeys()), result(op.getOuts()[0]), dropoutKey(op.getDropoutKey()),
        shape(shape) {
    if (op.getOuts().size() > 1)
      logSumExp = op.getOuts()[1];
  }

  void emit() {
    int64_t group = scores.group();
    Value tiles = countTiles(b, b.dim(q, 0), cuQueries, group, shape.rows());
    blocks(b, {tiles, b.index(scores.kvHeads)}, shape.threads(), [&](ValueRange at, Value thread) {
      // Those that see most keys begin first.
      bool fromLast = scores.options.getCausal();
      Value number = fromLast ? b.sub(b.sub(tiles, b.index(1)), at[0]) : at[0];
      SequenceTile place = findTileByWarp(b, number, thread, cuQueries, group, shape.rows());
      b.ifThen(b.less(place.first, b.mul(place.tokens, group)), [&] {
        AttentionMmaTile tile(b, shape, halfType(q), thread);
        emitTile(tile, workOf(tile, place, at[1]));
      });
    });
  }

private:
  /// The block's part of the work.
  struct Work {
    SequenceTile place;
    Value kvHead, firstKey, keys;
    SmallVector<QueryRow> rows; // of the thread
  };

  QueryRow rowOf(const Work &work, Value number) {
    return queryRow(scores, work.place, work.keys, work.kvHead, b.add(work.place.first, number));
  }

  Work workOf(const AttentionMmaTile &tile, const SequenceTile &place, Value kvHead) {
    Value first = b.load(cuKeys, place.sequence);
    Value keys = b.sub(b.load(cuKeys, b.add(place.sequence, 1)), first);
    Work work{place, kvHead, first, keys, {}};
    for (int64_t i = 0; i < shape.rowsOfThread(); ++i)
      work.rows.push_back(rowOf(work, tile.row(i)));
    return work;
  }

  /// The tiles of keys `[first, second)` that any row of the block sees.
  std::pair<Value, Value> tilesOfKeys(const Work &work) {
    Value from = rowOf(work, b.index(0)).from;
    Value end = b.max(rowOf(work, b.index(shape.rows() - 1)).end, b.index(0));
    Value begin = b.div(from, shape.columns);
    return {begin, b.max(begin, b.div(b.add(end, shape.columns - 1), shape.columns))};
  }

  void copyKeys(const AttentionMmaTile &tile, const Work &work, Value to, Value from,
                Value number) {
    tile.copyColumns(to, b.index(0), number, work.keys, from, [&](Value key) {
      return Vector{{from, {b.add(work.firstKey, key)}}, scores.column(work.kvHead)};
    });
  }

  /// Whether scores are products times one positive number, which is left for later.
  bool areProducts() const { return !scores.bias && !scores.factor && scores.scaleAttribute > 0; }
  Value scaleOfPowers() const { return b.mulf(scores.scale(), b.scalar(log2e)); }

  /// Of products, scores of the thread's places in a tile of keys, as powers of 2.
  void finishScores(const AttentionMmaTile &tile, const Work &work, Value number, Values &values) {
    Value first = b.mul(number, shape.columns);
    if (!areProducts())
      addBias(work, b.add(first, tile.column()), values);
    SmallVector<ColumnRange> seen;
    for (const QueryRow &row : work.rows)
      seen.push_back({row.from, row.end});
    tile.mask(values, seen, /*begins=*/scores.options.getWindow() != 0, first, lowest(b));
  }

  void addBias(const Work &work, Value first, Values &values) {
    for (auto [n, value] : llvm::enumerate(values)) {
      auto [i, column] = AttentionMmaTile::placeOf(static_cast<int64_t>(n), shape.columns);
      const QueryRow &row = work.rows[i];
      Value distance = b.sub(b.add(first, column), row.place);
      value = scores.ofProduct(value, row.query, row.head, Value(), distance);
      value = b.mulf(value, b.scalar(log2e));
    }
  }

  /// What values are weighted by: some are dropped, which the sum of weights has.
  void drop(const AttentionMmaTile &tile, const Work &work, Value number, Values &weights) {
    if (!dropoutKey)
      return;
    constexpr int64_t drawn = DropoutFactors::group / DropoutFactors::lanes; // columns of a draw
    double rate = scores.options.getDropout().convertToDouble();
    for (auto [n, weight] : llvm::enumerate(weights)) {
      auto [i, column] = AttentionMmaTile::placeOf(static_cast<int64_t>(n), shape.columns);
      int64_t lane = column % DropoutFactors::group;
      if (lane >= DropoutFactors::lanes)
        continue; // drawn with another
      DropoutFactors factors{b, dropoutKey, rate, b.add(work.rows[i].head, 1)};
      Value group = b.add(b.mul(number, shape.columns / DropoutFactors::group),
                          column / DropoutFactors::group);
      Values each = factors.draw(work.rows[i].query, group, b.add(tile.column(), lane));
      for (int64_t c = 0; c < drawn; ++c) {
        Value &kept = weights[n + c * sumsOfMma];
        kept = b.mulf(kept, each[c]);
      }
    }
  }

  /// Of each row the whole number that scores are lessened by and the thread's part of the sum of
  /// weights, then the weighted values.
  Values attend(const AttentionMmaTile &tile, const Work &work, Value from, Value end) {
    Value queries = tile.vectors(shape.rows()), keys = tile.vectors(shape.columns);
    Value values = tile.vectors(shape.columns);
    tile.copy(queries, b.index(0), shape.rows(), q, /*often=*/false, [&](Value i) {
      QueryRow row = rowOf(work, i);
      return Vector{{q, {row.query}}, scores.column(row.head)};
    });
    b.ifThen(b.less(from, end), [&] { copyKeys(tile, work, keys, k, from); });
    waitForCopies(b);
    barrier(b);
    Values loaded = tile.loadRows(queries);
    int64_t rows = shape.rowsOfThread();
    Values none(rows, lowest(b));
    none.append(rows + shape.numSums(), b.scalar(0));
    return b.loop(from, end, none, [&](Value number, ValueRange before) {
      waitForCopies(b);
      barrier(b); // keys are there, values are read
      copyKeys(tile, work, values, v, number);
      Values weights = tile.products(queries, loaded, keys, b.index(0)), next(before);
      finishScores(tile, work, number, weights);
      makeWeights(tile, weights, next);
      drop(tile, work, number, weights);
      waitForCopies(b);
      barrier(b); // values are there, keys are read
      Value following = b.add(number, 1);
      b.ifThen(b.less(following, end), [&] { copyKeys(tile, work, keys, k, following); });
      Values sums =
          tile.addWeighted(ArrayRef(next).drop_front(2 * rows), weights, values, b.index(0));
      llvm::copy(sums, next.begin() + 2 * rows);
      return next;
    });
  }

  /// Of scores, and of what `attend` has so far.
  void makeWeights(const AttentionMmaTile &tile, Values &weights, Values &state) {
    int64_t rows = shape.rowsOfThread();
    Value scale = areProducts() ? scaleOfPowers() : Value();
    Values shrinks;
    for (int64_t i = 0; i < rows; ++i) {
      Value highest, sum;
      auto ofRow = [&](function_ref<void(Value &)> body) {
        for (auto [n, weight] : llvm::enumerate(weights))
          if (AttentionMmaTile::placeOf(static_cast<int64_t>(n), shape.columns).first == i)
            body(weight);
      };
      auto max = [&](Value x, Value y) { return b.maxf(x, y); };
      ofRow([&](Value &score) { highest = highest ? max(highest, score) : score; });
      highest = tile.overRow(highest, max);
      if (scale)
        highest = b.mulf(highest, scale);
      highest = b.maxf(state[i], math::CeilOp::create(b, highest));
      Value shift = b.select(isSame(b, highest, lowest(b)), b.scalar(0), highest);
      ofRow([&](Value &score) {
        Value lessened = b.subf(b.scalar(0), shift);
        score = exp2(b, scale ? math::FmaOp::create(b, score, scale, lessened).getResult()
                              : b.addf(score, lessened));
        sum = sum ? b.addf(sum, score) : score;
      });
      shrinks.push_back(exp2(b, b.subf(state[i], shift)));
      state[i] = highest;
      state[rows + i] = math::FmaOp::create(b, state[rows + i], shrinks[i], sum);
    }
    for (int64_t n = 0; n < shape.numSums(); ++n) {
      Value &weighted = state[2 * rows + n];
      weighted = b.mulf(weighted, shrinks[AttentionMmaTile::placeOf(n, shape.depth()).first]);
    }
  }

  void emitTile(const AttentionMmaTile &tile, const Work &work) {
    int64_t rows = shape.rowsOfThread();
    auto [from, end] = tilesOfKeys(work);
    Values done = attend(tile, work, from, end);
    for (int64_t number = 0; number < rows; ++number) {
      // Hidden: where it is written need not be known during the loop.
      QueryRow row = rowOf(work, hidden(b, tile.row(number)));
      Value total =
          tile.overRow(done[rows + number], [&](Value x, Value y) { return b.addf(x, y); });
      Value isNone = isSame(b, total, b.scalar(0));
      Value factor = b.select(isNone, b.scalar(0), b.divf(b.scalar(1), total));
      b.ifThen(row.isThere, [&] {
        Vector to{{result, {row.query}}, scores.column(row.head)};
        tile.store(ArrayRef(done).drop_front(2 * rows), number, factor, to);
      });
      if (!logSumExp)
        continue;
      b.ifThen(b.both(row.isThere, b.equal(tile.column(), b.index(0))), [&] {
        Value sum = math::LogOp::create(b, total);
        sum = math::FmaOp::create(b, done[number], b.scalar(ln2), sum);
        b.store(b.select(isNone, lowest(b), sum), logSumExp, {row.query, row.head});
      });
    }
  }

  Loops &b;
  AttentionScores scores;
  Value q, k, v, cuQueries, cuKeys, result, dropoutKey, logSumExp; // the last two may be null
  MmaTileShape shape;
};

std::optional<MmaTileShape> shapeFor(kernel::AttentionOp op, const GpuTarget &target) {
  int64_t width = cast<ShapedType>(op.getQ().getType()).getDimSize(1);
  bool hasOptions = op.getPositionBias() || op.getDropoutKey();
  return chooseMmaTile(target, width / static_cast<int64_t>(op.getNumHeads()), hasOptions);
}

} // namespace

bool transformer::simt::hasTensorCoreAttention(kernel::AttentionOp op, const GpuTarget *target) {
  return !op.getColumns() && (!target || shapeFor(op, *target));
}

bool transformer::simt::emitAttentionTensorCores(Loops &b, kernel::AttentionOp op) {
  if (!b.target || !halfType(op.getQ()))
    return false;
  TensorCoreAttention(b, op, *shapeFor(op, *b.target)).emit();
  return true;
}
