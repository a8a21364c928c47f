//===- AttentionNest.cpp - attention on rows of 16 bits -------------------===//
#include "codegen/gpu/nests/AttentionNest.h"
#include "codegen/gpu/nests/Blocks.h"
#include "codegen/gpu/nests/Dropout.h"
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

} // namespace

AttentionNest::AttentionNest(Loops &b, kernel::AttentionOp op, const MmaTileShape &shape)
    : b(b), scores(b, op, op.getScaleFactor().empty() ? Value() : op.getScaleFactor().front()),
      q(op.getQ()), k(op.getK()), v(op.getV()), cuQueries(op.getCuQueries()),
      cuKeys(op.getCuKeys()), result(op.getOuts()[0]), dropoutKey(op.getDropoutKey()),
      shape(shape) {
  if (op.getOuts().size() > 1)
    logSumExp = op.getOuts()[1];
}

void AttentionNest::forTiles(int64_t threads, function_ref<void(const Work &, Value)> body) {
  int64_t group = scores.group();
  Value tiles = countTiles(b, b.dim(q, 0), cuQueries, group, shape.rows());
  blocks(b, {tiles, b.index(scores.kvHeads)}, threads, [&](ValueRange at, Value thread) {
    // Those that see most keys begin first.
    bool fromLast = scores.options.getCausal();
    Value number = fromLast ? b.sub(b.sub(tiles, b.index(1)), at[0]) : at[0];
    SequenceTile place = findTileByWarp(b, number, thread, cuQueries, group, shape.rows());
    b.ifThen(b.less(place.first, b.mul(place.tokens, group)), [&] {
      Value first = b.load(cuKeys, place.sequence);
      Value keys = b.sub(b.load(cuKeys, b.add(place.sequence, 1)), first);
      body(Work{place, at[1], first, keys, {}}, thread);
    });
  });
}

void AttentionNest::findRows(const AttentionMmaTile &tile, Work &work) {
  for (int64_t i = 0; i < shape.rowsOfThread(); ++i)
    work.rows.push_back(rowOf(work, tile.row(i)));
}

std::pair<Value, Value> AttentionNest::tilesOfKeys(const Work &work) {
  Value from = rowOf(work, b.index(0)).from;
  Value end = b.max(rowOf(work, b.index(shape.rows() - 1)).end, b.index(0));
  Value begin = b.div(from, shape.columns);
  return {begin, b.max(begin, b.div(b.add(end, shape.columns - 1), shape.columns))};
}

Values AttentionNest::none() {
  Values state(shape.rowsOfThread(), lowest(b));
  state.append(shape.rowsOfThread() + shape.numSums(), b.scalar(0));
  return state;
}

/// Whether scores are products times one positive number, which is left for later.
bool AttentionNest::areProducts() const {
  return !scores.bias && !scores.factor && scores.scaleAttribute > 0;
}

/// Of products, scores of the thread's places in a tile of keys, as powers of 2.
void AttentionNest::finishScores(const AttentionMmaTile &tile, const Work &work, Value number,
                                 Values &values) {
  Value first = b.mul(number, shape.columns);
  if (!areProducts())
    addBias(work, b.add(first, tile.column()), values);
  SmallVector<ColumnRange> seen;
  for (const QueryRow &row : work.rows)
    seen.push_back({row.from, row.end});
  tile.mask(values, seen, /*begins=*/scores.options.getWindow() != 0, first, lowest(b));
}

void AttentionNest::addBias(const Work &work, Value first, Values &values) {
  for (auto [n, value] : llvm::enumerate(values)) {
    auto [i, column] = AttentionMmaTile::placeOf(static_cast<int64_t>(n), shape.columns);
    const QueryRow &row = work.rows[i];
    Value distance = b.sub(b.add(first, column), row.place);
    value = scores.ofProduct(value, row.query, row.head, Value(), distance);
    value = b.mulf(value, b.scalar(log2e));
  }
}

/// What values are weighted by: some are dropped, which the sum of weights has.
void AttentionNest::drop(const AttentionMmaTile &tile, const Work &work, Value number,
                         Values &weights) {
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
    Value group =
        b.add(b.mul(number, shape.columns / DropoutFactors::group), column / DropoutFactors::group);
    Values each = factors.draw(work.rows[i].query, group, b.add(tile.column(), lane));
    for (int64_t c = 0; c < drawn; ++c) {
      Value &kept = weights[n + c * sumsOfMma];
      kept = b.mulf(kept, each[c]);
    }
  }
}

Values AttentionNest::makeWeights(const AttentionMmaTile &tile, const Work &work, Value number,
                                  Values &weights, Values &state) {
  finishScores(tile, work, number, weights);
  int64_t rows = shape.rowsOfThread();
  Value scale = areProducts() ? b.mulf(scores.scale(), b.scalar(log2e)) : Value();
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
  drop(tile, work, number, weights);
  return shrinks;
}

void AttentionNest::shrink(MutableArrayRef<Value> weighted, ArrayRef<Value> factors) {
  for (auto [n, value] : llvm::enumerate(weighted)) {
    int64_t row = AttentionMmaTile::placeOf(static_cast<int64_t>(n), shape.depth()).first;
    value = b.mulf(value, factors[row]);
  }
}

void AttentionNest::store(const AttentionMmaTile &tile, const Work &work, Values &state) {
  int64_t rows = shape.rowsOfThread();
  for (int64_t number = 0; number < rows; ++number) {
    // Hidden: where it is written need not be known during the loop.
    QueryRow row = rowOf(work, hidden(b, tile.row(number)));
    Value total =
        tile.overRow(state[rows + number], [&](Value x, Value y) { return b.addf(x, y); });
    Value isNone = isSame(b, total, b.scalar(0));
    Value factor = b.select(isNone, b.scalar(0), b.divf(b.scalar(1), total));
    b.ifThen(row.isThere, [&] {
      Vector to{{result, {row.query}}, scores.column(row.head)};
      tile.store(weighted(state), number, factor, to);
    });
    if (!logSumExp)
      continue;
    b.ifThen(b.both(row.isThere, b.equal(tile.column(), b.index(0))), [&] {
      Value sum = math::LogOp::create(b, total);
      sum = math::FmaOp::create(b, state[number], b.scalar(ln2), sum);
      b.store(b.select(isNone, lowest(b), sum), logSumExp, {row.query, row.head});
    });
  }
}
