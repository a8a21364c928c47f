//===- AttentionTile.cpp - attention of a register tile of queries --------===//
//
// For each block of keys: scores of the tile into a strip, their maxima, powers
// of two in place, then P V. The output row holds the sum so far; when a block
// raises the maximum it is rescaled, in the last block divided by the sum.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/nests/AttentionNest.h"
#include "codegen/math/VectorMath.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace mlir::transformer;

/// Steps of an inner loop that are written out.
static constexpr int64_t innerUnroll = 4;

/// Calls `body` for 0 .. count - 1, unrolled, with what is left written out.
static Values unrolledLoop(Emit &b, int64_t count, Values init,
                           function_ref<void(Value, Values &)> body) {
  int64_t whole = count / innerUnroll * innerUnroll;
  if (whole)
    init = b.loop(b.index(0), b.index(whole), innerUnroll, init, [&](Value i, ValueRange args) {
      Values values(args);
      for (int64_t u = 0; u < innerUnroll; ++u)
        body(b.add(i, u), values);
      return values;
    });
  for (int64_t i = whole; i < count; ++i)
    body(b.index(i), init);
  return init;
}

/// The same for a count known at run time.
static Values unrolledLoop(Emit &b, Value count, Values init,
                           function_ref<void(Value, Values &)> body) {
  Value whole = b.mul(b.div(count, innerUnroll), innerUnroll);
  auto steps = [&](int64_t n) {
    return [&, n](Value i, ValueRange args) {
      Values values(args);
      for (int64_t u = 0; u < n; ++u)
        body(b.add(i, u), values);
      return values;
    };
  };
  init = b.loop(b.index(0), whole, innerUnroll, init, steps(innerUnroll));
  return b.loop(whole, count, 1, init, steps(1));
}

void AttentionNest::emitRowTiles(Place &place) {
  // Tile heights, ascending; the last rows take the lowest one that covers them.
  SmallVector<int64_t> heights = {1, 2, 4};
  while (heights.back() >= tileRows)
    heights.pop_back();

  b.forEach(place.first, place.end, tileRows, [&](Value start) {
    Value left = b.sub(place.end, start), height = b.index(tileRows);
    for (int64_t lower : llvm::reverse(heights))
      height = b.select(b.le(left, b.index(lower)), b.index(lower), height);
    auto choice = scf::IndexSwitchOp::create(b, TypeRange(), height, heights, heights.size());
    auto fill = [&](Region &region, int64_t rows) {
      OpBuilder::InsertionGuard guard(b);
      b.createBlock(&region);
      Tile tile;
      tile.start = start;
      tile.rows = rows;
      Value last = b.sub(place.end, b.index(1));
      for (int64_t i = 0; i < rows; ++i)
        tile.row.push_back(b.min(b.add(start, i), last));
      Value keys = endOfKeys(place, tile.row.back());
      tile.keys = b.min(b.sub(keys, place.block), b.index(keyBlock));
      tile.isLast = b.le(b.sub(keys, place.block), b.index(keyBlock));
      Value needed; // the block may begin behind the tile's last row
      if (!seesAll())
        needed = b.lt(place.block, keys);
      if (window) { // or end before its first one
        Value first = firstKey(place, start);
        needed = b.both(needed, b.lt(first, b.add(place.block, keyBlock)));
        place.isFirst = b.le(place.block, first);
      }
      if (needed)
        b.ifThen(needed, [&] { emitTile(place, tile); });
      else
        emitTile(place, tile);
      scf::YieldOp::create(b);
    };
    fill(choice.getDefaultRegion(), tileRows);
    for (auto [region, rows] : llvm::zip_equal(choice.getCaseRegions(), heights))
      fill(region, rows);
  });
}

void AttentionNest::scaleQueries(Place &place, Tile &tile) {
  for (int64_t i = 0; i < tile.rows; ++i) {
    Value row = b.add(place.queryRow, tile.row[i]);
    for (int64_t d = 0; d < headDim; d += b.lanes()) {
      int64_t count = std::min(b.lanes(), headDim - d);
      Value x = b.loadVector(q, {row, b.add(place.column, d)}, count);
      b.storeVector(b.mulf(x, place.factor), place.queries, {b.index(i), b.index(d)}, count);
    }
  }
}

void AttentionNest::prefetchNextHead(Place &place, Tile &tile, Value panel, Value panels) {
  // Part `panel` of the `count` rows from `first`, of which there are `end`.
  auto part = [&](Value first, Value count, Value end, function_ref<void(Value)> fetch) {
    Value size = b.ceilDiv(count, panels);
    Value from = b.min(b.add(first, b.mul(panel, size)), end);
    b.forEach(from, b.min(b.add(from, size), end), 1, fetch);
  };
  part(tile.start, b.index(tile.rows), place.end, [&](Value row) {
    b.prefetchRow(q, b.add(place.queryRow, row), b.add(place.column, headDim), headDim);
  });
  if (pages)
    return; // heads lie one after the other there
  Value firstRow = b.add(place.keyRow, place.block), column = b.add(place.kvColumn, headDim);
  Value number = b.div(b.sub(tile.start, place.first), tileRows);
  part(b.mul(number, place.keysToFetch), place.keysToFetch, place.blockKeys, [&](Value key) {
    b.prefetchRow(k, b.add(firstRow, key), column, headDim);
    b.prefetchRow(v, b.add(firstRow, key), column, headDim);
  });
}

void AttentionNest::emitTile(Place &place, Tile &tile) {
  int64_t rows = tile.rows;
  scaleQueries(place, tile);
  Value panels = b.ceilDiv(tile.keys, panelColumns), local = b.sub(tile.start, place.first);
  Values best = emitScores(place, tile, panels);
  Values oldMaximum, oldSum, maximum, shift;
  for (int64_t i = 0; i < rows; ++i) {
    auto before = [&](Value buffer, double initial) {
      Value stored = b.load(buffer, b.add(local, i));
      return b.select(place.isFirst, b.scalar(initial), stored);
    };
    oldMaximum.push_back(before(place.maxima, std::numeric_limits<float>::lowest()));
    oldSum.push_back(before(place.sums, 0));
    maximum.push_back(emitMax(b, oldMaximum[i], b.maxLane(best[i])));
    shift.push_back(b.broadcast(maximum[i]));
  }
  SmallVector<Type> types(rows, b.vectorType());
  Values alpha = b.ifElse(
      place.isFirst, types, [&] { return Values(rows, b.splat(0)); },
      [&] {
        Values x;
        for (int64_t i = 0; i < rows; ++i)
          x.push_back(b.broadcast(b.subf(oldMaximum[i], maximum[i])));
        return emitExp2NonPositive(b, x);
      });
  Values sums = emitProbabilities(place, tile, panels, shift);
  Values inverse;
  for (int64_t i = 0; i < rows; ++i) {
    Value a = vector::ExtractOp::create(b, alpha[i], ArrayRef<int64_t>{0});
    Value sum = emitFma(b, oldSum[i], a, b.sumLanes(sums[i])), one = b.scalar(1);
    inverse.push_back(b.broadcast(b.select(tile.isLast, b.divf(one, sum), one)));
    b.store(maximum[i], place.maxima, b.add(local, i));
    b.store(sum, place.sums, b.add(local, i));
    if (logSumExp)
      b.ifThen(tile.isLast, [&] {
        constexpr double ln2 = 0.6931471805599453; // maxima are logarithms to the base of 2
        Value logarithm = math::LogOp::create(b, sum);
        b.store(emitFma(b, maximum[i], b.scalar(ln2), logarithm), logSumExp,
                {b.add(place.queryRow, tile.row[i]), place.head});
      });
  }
  emitOutput(place, tile, alpha, inverse);
}

Values AttentionNest::emitScores(Place &place, Tile &tile, Value panels) {
  constexpr float lowest = -std::numeric_limits<float>::infinity();
  int64_t lanes = b.lanes(), rows = tile.rows;
  return b.loop(b.index(0), panels, 1, Values(rows, b.splat(lowest)),
                [&](Value panel, ValueRange args) {
                  prefetchNextHead(place, tile, panel, panels);
                  Values scores(rows * vectors, b.splat(0));
                  scores = unrolledLoop(b, headDim, scores, [&](Value d, Values &s) {
                    Values keys;
                    for (int64_t j = 0; j < vectors; ++j)
                      keys.push_back(b.loadVector(place.keyPanels, {panel, d, b.index(j * lanes)}));
                    for (int64_t i = 0; i < rows; ++i) {
                      Value x = b.broadcast(b.load(place.queries, {b.index(i), d}));
                      for (int64_t j = 0; j < vectors; ++j)
                        s[i * vectors + j] = emitFma(b, x, keys[j], s[i * vectors + j]);
                    }
                  });
                  Value column = b.mul(panel, panelColumns), firstKey = b.add(place.block, column);
                  if (bias)
                    scores = addBias(scores, place, tile, firstKey);
                  if (scoreColumns)
                    scores = addRelative(scores, place, tile, firstKey);
                  scores = maskScores(scores, place, tile, firstKey, b.sub(tile.keys, column));
                  Values best(args);
                  for (int64_t i = 0; i < rows; ++i)
                    for (int64_t j = 0; j < vectors; ++j) {
                      Value s = scores[i * vectors + j];
                      b.storeVector(s, place.strip, {b.index(i), b.add(column, j * lanes)});
                      best[i] = emitMax(b, best[i], s);
                    }
                  return best;
                });
}

Values AttentionNest::emitProbabilities(Place &place, Tile &tile, Value panels, ValueRange shift) {
  constexpr int64_t rowsPerGroup = 2;
  int64_t lanes = b.lanes(), rows = tile.rows;
  Value end = b.mul(panels, panelColumns);
  Values zeros(rows, b.splat(0));
  return b.loop(b.index(0), end, panelColumns, zeros, [&](Value column, ValueRange args) {
    Values sums(args);
    for (int64_t first = 0; first < rows; first += rowsPerGroup) {
      int64_t last = std::min(first + rowsPerGroup, rows);
      Values x;
      auto at = [&](int64_t i, int64_t j) {
        return SmallVector<Value>{b.index(i), b.add(column, j * lanes)};
      };
      for (int64_t i = first; i < last; ++i)
        for (int64_t j = 0; j < vectors; ++j)
          x.push_back(b.subf(b.loadVector(place.strip, at(i, j)), shift[i]));
      Values p = emitExp2NonPositive(b, x);
      for (int64_t i = first; i < last; ++i)
        for (int64_t j = 0; j < vectors; ++j) {
          Value probability = p[(i - first) * vectors + j];
          b.storeVector(probability, place.strip, at(i, j));
          sums[i] = b.addf(sums[i], probability);
        }
    }
    return sums;
  });
}

void AttentionNest::emitOutput(Place &place, Tile &tile, ValueRange alpha, ValueRange inverse) {
  int64_t whole = headDim / panelColumns;
  auto columns = [&](Value panel, int64_t width) {
    emitOutputColumns(place, tile, alpha, inverse, panel, width);
  };
  if (whole)
    b.forEach(b.index(0), b.index(whole), 1, [&](Value panel) { columns(panel, panelColumns); });
  if (whole * panelColumns < headDim)
    columns(b.index(whole), headDim - whole * panelColumns);
}

void AttentionNest::emitOutputColumns(Place &place, Tile &tile, ValueRange alpha,
                                      ValueRange inverse, Value panel, int64_t width) {
  int64_t lanes = b.lanes(), rows = tile.rows, n = llvm::divideCeil(width, lanes);
  auto count = [&](int64_t j) { return std::min(lanes, width - j * lanes); };
  Value firstColumn = b.add(place.column, b.mul(panel, panelColumns));
  auto at = [&](int64_t i, int64_t j) {
    return SmallVector<Value>{b.add(place.queryRow, tile.row[i]), b.add(firstColumn, j * lanes)};
  };
  // All of the tile's rows are read before any is written: rows that stand for
  // the same query read and write the same.
  SmallVector<Type> types(rows * n, b.vectorType());
  Values sums = b.ifElse(
      place.isFirst, types, [&] { return Values(rows * n, b.splat(0)); },
      [&] {
        Values old;
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < n; ++j)
            old.push_back(b.mulf(alpha[i], b.loadVector(out, at(i, j), count(j))));
        return old;
      });
  Value valueColumn = b.add(place.valueColumn, b.mul(panel, panelColumns));
  sums = unrolledLoop(b, tile.keys, sums, [&](Value key, Values &s) {
    Values values;
    for (int64_t j = 0; j < n; ++j)
      values.push_back(b.loadVector(
          place.values, {b.add(place.firstValue, key), b.add(valueColumn, j * lanes)}, count(j)));
    for (int64_t i = 0; i < rows; ++i) {
      Value p = b.broadcast(b.load(place.strip, {b.index(i), key}));
      for (int64_t j = 0; j < n; ++j)
        s[i * n + j] = emitFma(b, p, values[j], s[i * n + j]);
    }
  });
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < n; ++j)
      b.storeVector(b.mulf(sums[i * n + j], inverse[i]), out, at(i, j), count(j));
}
