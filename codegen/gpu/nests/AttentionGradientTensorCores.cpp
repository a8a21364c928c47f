//===- AttentionGradientTensorCores.cpp - backward on rows of 16 bits -----===//
//
// All five products are the tensor cores'. What the first two leave in registers is what the ones
// behind them take: of queries' rows for dq, of keys' rows for dk and dv, so no tile is transposed
// in memory. The next tile is on its way while one is multiplied (FlashAttention-2, Dao 2023).
//
//===----------------------------------------------------------------------===//
#include "codegen/gpu/nests/AttentionGradientNest.h"
#include "codegen/gpu/nests/AttentionMmaTile.h"
#include "codegen/gpu/nests/Blocks.h"
#include "codegen/gpu/nests/Kernels.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

namespace {

constexpr int64_t slots = 2; // of the other side's tiles in memory

/// A tile whose rows have `sums` weighted vectors each; nothing where there is none.
std::optional<MmaTileShape> chooseShape(const GpuTarget &target, kernel::AttentionGradientOp op,
                                        int64_t sums) {
  int64_t headDim =
      cast<ShapedType>(op.getQ().getType()).getDimSize(1) / static_cast<int64_t>(op.getNumHeads());
  MmaTileShape shape{target.attentionWarps, mmaRows, target.tensorGradientColumns, headDim};
  auto numbers = [&] { return sums * shape.numSums() + 2 * shape.numProducts(); };
  if (numbers() + shape.rowsOfThread() * numbersOfOptions(op) > target.tensorGradientNumbers)
    shape.columns /= 2;
  int64_t vectors = 2 * (shape.rows() + slots * shape.columns);
  int64_t others = 4 * (2 * slots * shape.columns + shape.rows() * (shape.columns + 1));
  bool fits = numbers() <= target.tensorGradientNumbers &&
              shape.vectorBytes(vectors) + others <= target.sharedMemoryBytes;
  return fits ? std::optional(shape) : std::nullopt;
}

class GradientTensorCores : public AttentionGradientNest {
public:
  GradientTensorCores(Loops &b, kernel::AttentionGradientOp op, const GradientBuffers &buffers)
      : AttentionGradientNest(b, op, buffers, /*byWarp=*/true) {}

  void emitQueries(const MmaTileShape &shape) {
    forTilesOfQueries(shape.rows(), shape.threads(), [&](const Work &work, Value thread) {
      emitQueryTile(AttentionMmaTile(b, shape, halfType(op.getQ()), thread), thread, work);
    });
  }

  void emitKeys(const MmaTileShape &shape) {
    forTilesOfKeys(shape.rows(), shape.threads(), [&](const Work &work, Value thread) {
      emitKeyTile(AttentionMmaTile(b, shape, halfType(op.getQ()), thread), thread, work);
    });
  }

private:
  /// Of a row of queries, times log2(e), and its delta.
  struct Saved {
    Value sum, delta;
  };
  /// A place of the tile: a key and a row of queries, which is known where scores need more than
  /// products.
  struct Pair {
    Saved saved;
    const QueryRow *row;
    Value key;
  };

  Vector vectorOfQuery(const Work &work, Value number, Value buffer) {
    QueryRow row = rowOf(work, number);
    return {{buffer, {row.query}}, scores.column(row.head)};
  }
  Vector vectorOfKey(const Work &work, Value number, Value buffer) {
    return {{buffer, {b.add(work.keys.firstRow, number)}}, scores.column(work.kvHead)};
  }

  /// Probabilities of the thread's places: 0 where a row does not see a column.
  void finishWeights(const AttentionMmaTile &tile, Values &weights, Value first,
                     ArrayRef<ColumnRange> seen, bool begins,
                     function_ref<Pair(int64_t i, int64_t column)> pairOf) {
    Value scale = b.mulf(scores.scale(), b.scalar(log2e));
    for (auto [n, weight] : llvm::enumerate(weights)) {
      auto [i, column] = AttentionMmaTile::placeOf(static_cast<int64_t>(n), tile.shape.columns);
      Pair pair = pairOf(i, column);
      if (scores.bias) {
        Value distance = b.sub(pair.key, pair.row->place);
        weight = scores.ofProduct(weight, pair.row->query, pair.row->head, Value(), distance);
      }
      Value factor = scores.bias ? b.scalar(log2e) : scale;
      Value lessened = b.subf(b.scalar(0), pair.saved.sum);
      weight = exp2(b, math::FmaOp::create(b, weight, factor, lessened));
    }
    tile.mask(weights, seen, begins, first, b.scalar(0));
  }

  void emitQueryTile(const AttentionMmaTile &tile, Value thread, const Work &work) {
    const MmaTileShape &shape = tile.shape;
    int64_t rows = shape.rowsOfThread();
    Value q = tile.vectors(shape.rows()), dresult = tile.vectors(shape.rows());
    Value k = tile.vectors(slots * shape.columns), v = tile.vectors(slots * shape.columns);
    Value table;
    if (isTable())
      table = sharedMemory(b, {shape.rows(), shape.columns + 1}, b.getF32Type());
    for (auto [to, from] : {std::pair(q, op.getQ()), std::pair(dresult, op.getDresult())})
      tile.copy(to, b.index(0), shape.rows(), from, /*often=*/false, [&, from = from](Value i) {
        return vectorOfQuery(work, b.add(work.queries.first, i), from);
      });
    SmallVector<QueryRow> own;
    SmallVector<Saved> saved;
    SmallVector<ColumnRange> seen;
    for (int64_t i = 0; i < rows; ++i) {
      const QueryRow &row = own.emplace_back(rowOf(work, b.add(work.queries.first, tile.row(i))));
      Values at = {row.query, row.head};
      Value sum = b.mulf(b.load(op.getLogSumExp(), at), b.scalar(log2e));
      saved.push_back({sum, b.load(buffers.deltas, at)});
      seen.push_back({row.from, row.end});
    }
    auto [from, end] = tilesOfKeys(work, shape.rows(), shape.columns);
    clearTable(work, shape.rows(), thread);
    Values none(shape.numSums() + (isSlope() ? rows : 0), b.scalar(0));
    Values sums = through(
        slots, shape.columns, from, end, none,
        [&](Value place, Value number) {
          for (auto [to, from] : {std::pair(k, op.getK()), std::pair(v, op.getV())})
            tile.copyColumns(to, place, number, work.keys.tokens, from,
                             [&, from = from](Value key) { return vectorOfKey(work, key, from); });
        },
        [&](Value place, Value number, ValueRange before) {
          Value first = b.mul(number, shape.columns), column = b.add(first, tile.column());
          Values weights = tile.products(q, {}, k, place);
          Values gradients = tile.products(dresult, {}, v, place);
          finishWeights(
              tile, weights, first, seen, scores.options.getWindow() != 0,
              [&](int64_t i, int64_t at) { return Pair{saved[i], &own[i], b.add(column, at)}; });
          dropByKeys(tile, own, number, gradients);
          Values lengths(before.take_back(isSlope() ? rows : 0));
          for (auto [n, gradient] : llvm::enumerate(gradients)) {
            auto [i, at] = AttentionMmaTile::placeOf(static_cast<int64_t>(n), shape.columns);
            gradient = b.mulf(weights[n], b.subf(gradient, saved[i].delta));
            Value distance = b.sub(b.add(column, at), own[i].place);
            if (isSlope())
              lengths[i] =
                  math::FmaOp::create(b, gradient, scores.biasPlace(distance).second, lengths[i]);
            if (table)
              b.store(gradient, table, {tile.row(i), b.add(tile.column(), at)});
          }
          if (table) {
            barrier(b);
            addToTable(work, shape.rows(), thread, table, first, shape.columns);
          }
          Values next = tile.addWeighted(before.drop_back(lengths.size()), gradients, k, place);
          next.append(lengths);
          return next;
        });
    for (int64_t i = 0; i < rows; ++i) {
      // Hidden: where it is written need not be known during the loop.
      QueryRow row = rowOf(work, b.add(work.queries.first, hidden(b, tile.row(i))));
      Value length;
      if (isSlope())
        length =
            tile.overRow(sums[shape.numSums() + i], [&](Value x, Value y) { return b.addf(x, y); });
      b.ifThen(row.isThere, [&] {
        tile.store(ArrayRef(sums).take_front(shape.numSums()), i, scores.scale(),
                   {{op.getOuts()[0], {row.query}}, scores.column(row.head)});
        if (length)
          b.ifThen(b.equal(tile.column(), b.index(0)),
                   [&] { b.store(length, buffers.dbias, {row.query, row.head}); });
      });
    }
  }

  /// Multiplies what rows of queries have by dropout's factors; four columns are a draw.
  void dropByKeys(const AttentionMmaTile &tile, ArrayRef<QueryRow> rows, Value number,
                  Values &gradients) {
    constexpr int64_t group = DropoutFactors::group, lanes = DropoutFactors::lanes;
    if (!op.getDropoutKey())
      return;
    for (int64_t n = 0, size = gradients.size(); n < size; ++n) {
      auto [i, column] = AttentionMmaTile::placeOf(n, tile.shape.columns);
      if (column % group >= lanes)
        continue; // drawn with another
      Value ofColumn = b.add(b.mul(number, tile.shape.columns / group), column / group);
      Values factors =
          dropout(rows[i]).draw(rows[i].query, ofColumn, b.add(tile.column(), column % group));
      for (int64_t c = 0; c < group / lanes; ++c) {
        Value &kept = gradients[n + c * sumsOfMma];
        kept = b.mulf(kept, factors[c]);
      }
    }
  }

  void emitKeyTile(const AttentionMmaTile &tile, Value thread, const Work &work) {
    const MmaTileShape &shape = tile.shape;
    int64_t rows = shape.rowsOfThread();
    Value k = tile.vectors(shape.rows()), v = tile.vectors(shape.rows());
    Value q = tile.vectors(slots * shape.columns), dresult = tile.vectors(slots * shape.columns);
    auto numbers = [&] { return sharedMemory(b, {slots * shape.columns}, b.getF32Type()); };
    Value ofSums = numbers(), ofDeltas = numbers();
    for (auto [to, from] : {std::pair(k, op.getK()), std::pair(v, op.getV())})
      tile.copy(to, b.index(0), shape.rows(), from, /*often=*/false, [&, from = from](Value i) {
        Value last = b.sub(work.keys.tokens, b.index(1));
        return vectorOfKey(work, b.min(b.add(work.keys.first, i), last), from);
      });
    Value queries = b.mul(work.queries.tokens, scores.group());
    Values keys;
    SmallVector<ColumnRange> seen;
    for (int64_t i = 0; i < rows; ++i) {
      keys.push_back(b.add(work.keys.first, tile.row(i)));
      auto [from, end] = queriesOf(work, keys.back());
      seen.push_back({from, end});
    }
    auto [from, end] = tilesOfQueries(work, shape.rows(), shape.columns);
    bool begins = scores.options.getCausal() || scores.options.getWindow();
    Values sums = through(
        slots, shape.columns, from, end, Values(2 * shape.numSums(), b.scalar(0)),
        [&](Value place, Value number) {
          for (auto [to, from] : {std::pair(q, op.getQ()), std::pair(dresult, op.getDresult())})
            tile.copyColumns(to, place, number, queries, from, [&, from = from](Value row) {
              return vectorOfQuery(work, row, from);
            });
          b.ifThen(b.less(thread, b.index(shape.columns)), [&] {
            QueryRow row = rowOf(work, b.add(b.mul(number, shape.columns), thread));
            for (auto [to, from] :
                 {std::pair(ofSums, op.getLogSumExp()), std::pair(ofDeltas, buffers.deltas)})
              copyAsync(b, from, {row.query, row.head}, to, b.add(place, thread), 1);
          });
        },
        [&](Value place, Value number, ValueRange before) {
          Value first = b.mul(number, shape.columns);
          Values weights = tile.products(k, {}, q, place);
          Values gradients = tile.products(v, {}, dresult, place);
          SmallVector<Saved> saved = savedOfColumns(tile, ofSums, ofDeltas, place);
          SmallVector<QueryRow> columns;
          if (scores.bias || op.getDropoutKey())
            for (int64_t j = 0; j < static_cast<int64_t>(saved.size()); ++j)
              columns.push_back(
                  rowOf(work, b.add(b.add(first, tile.column()), j / 2 * mmaColumns + j % 2)));
          finishWeights(tile, weights, first, seen, begins, [&](int64_t i, int64_t at) {
            int64_t j = numberOfColumn(at);
            return Pair{saved[j], columns.empty() ? nullptr : &columns[j], keys[i]};
          });
          Values kept(weights);
          for (int64_t j = 0; j < static_cast<int64_t>(saved.size()); ++j) {
            Values factors;
            if (op.getDropoutKey())
              factors = factorsOfKeys(tile, columns[j], work.keys.first);
            for (int64_t i = 0; i < rows; ++i) {
              int64_t n = numberOf(tile, i, j);
              Value gradient = gradients[n];
              if (!factors.empty()) {
                kept[n] = b.mulf(weights[n], factors[i]);
                gradient = b.mulf(gradient, factors[i]);
              }
              gradients[n] = b.mulf(weights[n], b.subf(gradient, saved[j].delta));
            }
          }
          Values next = tile.addWeighted(before.take_front(shape.numSums()), gradients, q, place);
          next.append(tile.addWeighted(before.drop_front(shape.numSums()), kept, dresult, place));
          return next;
        });
    for (int64_t i = 0; i < rows; ++i) {
      Value number = b.add(work.keys.first, hidden(b, tile.row(i)));
      b.ifThen(b.less(number, work.keys.tokens), [&] {
        ArrayRef<Value> dk = ArrayRef(sums).take_front(shape.numSums());
        tile.store(dk, i, scores.scale(), vectorOfKey(work, number, op.getOuts()[1]));
        ArrayRef<Value> dv = ArrayRef(sums).drop_front(shape.numSums());
        tile.store(dv, i, b.scalar(1), vectorOfKey(work, number, op.getOuts()[2]));
      });
    }
  }

  /// Which of the thread's columns one is, and the number of it and the i-th row.
  static int64_t numberOfColumn(int64_t column) {
    return column / mmaColumns * 2 + column % mmaColumns;
  }
  static int64_t numberOf(const AttentionMmaTile &tile, int64_t i, int64_t column) {
    int64_t ofRows = tile.shape.columns / mmaColumns * sumsOfMma;
    return i / 2 * ofRows + column / 2 * sumsOfMma + i % 2 * 2 + column % 2;
  }

  SmallVector<Saved> savedOfColumns(const AttentionMmaTile &tile, Value sums, Value deltas,
                                    Value place) {
    SmallVector<Saved> saved;
    for (int64_t column = 0; column < tile.shape.columns; column += mmaColumns) {
      Value at = b.add(b.add(place, tile.column()), column);
      Values ofSums = loadVector(b, sums, at, 2), ofDeltas = loadVector(b, deltas, at, 2);
      for (int64_t e = 0; e < 2; ++e)
        saved.push_back({b.mulf(ofSums[e], b.scalar(log2e)), ofDeltas[e]});
    }
    return saved;
  }

  /// Dropout's factors of a row of queries and the thread's keys, which are eight apart; a draw
  /// is for the keys of two warps.
  Values factorsOfKeys(const AttentionMmaTile &tile, const QueryRow &row, Value firstKey) {
    constexpr int64_t group = DropoutFactors::group, lanes = DropoutFactors::lanes;
    Value key = b.add(firstKey, tile.row(0)), inGroup = b.rem(key, group);
    Values drawn = dropout(row).draw(row.query, b.div(key, group), b.rem(inGroup, lanes));
    Value isLower = b.less(inGroup, b.index(group / 2));
    return {b.select(isLower, drawn[0], drawn[2]), b.select(isLower, drawn[1], drawn[3])};
  }
};

} // namespace

bool transformer::simt::hasTensorCoreAttention(kernel::AttentionGradientOp op,
                                               const GpuTarget *target) {
  return !op.getColumns() && (!target || (chooseShape(*target, op, /*sums=*/1) &&
                                          chooseShape(*target, op, /*sums=*/2)));
}

bool transformer::simt::emitAttentionGradientTensorCores(Loops &b, kernel::AttentionGradientOp op,
                                                         const GradientBuffers &buffers) {
  if (!b.target || !halfType(op.getQ()))
    return false;
  GradientTensorCores nest(b, op, buffers);
  nest.emitDeltas();
  nest.emitQueries(*chooseShape(*b.target, op, /*sums=*/1));
  nest.emitKeys(*chooseShape(*b.target, op, /*sums=*/2));
  return true;
}
