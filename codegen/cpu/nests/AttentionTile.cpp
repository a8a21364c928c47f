//===- AttentionTile.cpp - attention of a register tile of queries --------===//
//
// For each block of keys: scores of the tile into a strip, their maxima, powers
// of two in place, then P V. The output row holds the sum so far; when a block
// raises the maximum it is rescaled, in the last block divided by the sum.
//
// Products are written out for each height of a tile, what is between them is a
// loop over its rows: the code of a power of two is long.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/nests/AttentionNest.h"
#include "codegen/cpu/nests/Dropout.h"
#include "codegen/math/VectorMath.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace mlir::transformer;

void AttentionNest::emitRowTiles(Place &place) {
  b.forEach(place.first, place.end, tileRows, [&](Value start) {
    Tile tile;
    tile.start = start;
    Value left = b.sub(place.end, start);
    tile.height = b.index(tileRows);
    if (inMatrices)
      tile.height = b.min(left, tile.height);
    for (int64_t lower : llvm::reverse(lowerHeights()))
      tile.height = b.select(b.le(left, b.index(lower)), b.index(lower), tile.height);
    Value last = b.sub(b.min(b.add(start, tileRows), place.end), b.index(1));
    Value keys = endOfKeys(place, last);
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
    auto emit = [&] { inMatrices ? emitMatrixTile(place, tile) : emitTile(place, tile); };
    if (needed)
      b.ifThen(needed, emit);
    else
      emit();
  });
}

SmallVector<int64_t> AttentionNest::lowerHeights() const {
  if (inMatrices) // registers are multiplied whole, and all else is a loop over rows
    return {};
  SmallVector<int64_t> heights = {1, 2, 4};
  while (heights.back() >= tileRows)
    heights.pop_back();
  return heights;
}

void AttentionNest::forHeight(Place &place, const Tile &tile, function_ref<void(Tile &)> body) {
  SmallVector<int64_t> heights = lowerHeights();
  auto choice = scf::IndexSwitchOp::create(b, TypeRange(), tile.height, heights, heights.size());
  auto fill = [&](Region &region, int64_t rows) {
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&region);
    Tile written = tile;
    written.rows = rows;
    for (int64_t i = 0; i < rows; ++i)
      written.row.push_back(queryOf(place, tile, b.index(i)));
    body(written);
    scf::YieldOp::create(b);
  };
  fill(choice.getDefaultRegion(), tileRows);
  for (auto [region, rows] : llvm::zip_equal(choice.getCaseRegions(), heights))
    fill(region, rows);
}

void AttentionNest::scaleQueries(Place &place, const Tile &tile) {
  b.forEach(b.index(0), tile.height, 1, [&](Value i) {
    Value row = b.add(place.queryRow, queryOf(place, tile, i));
    for (int64_t d = 0; d < headDim; d += b.lanes()) {
      int64_t count = std::min(b.lanes(), headDim - d);
      Value x = b.loadVector(q, {row, b.add(place.column, d)}, count);
      b.storeVector(b.mulf(x, place.factor), place.queries, {i, b.index(d)}, count);
    }
  });
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

void AttentionNest::emitTile(Place &place, const Tile &tile) {
  Value panels = b.ceilDiv(tile.keys, panelColumns);
  scaleQueries(place, tile);
  forHeight(place, tile, [&](Tile &written) { emitScores(place, written, panels); });
  emitSoftmax(place, tile, panels);
  if (dropoutKey)
    dropProbabilities(place, tile);
  forHeight(place, tile, [&](Tile &written) { emitOutput(place, written); });
}

void AttentionNest::emitScores(Place &place, Tile &tile, Value panels) {
  constexpr float lowest = -std::numeric_limits<float>::infinity();
  int64_t lanes = b.lanes(), rows = tile.rows;
  Values best = b.loop(
      b.index(0), panels, 1, Values(rows, b.splat(lowest)), [&](Value panel, ValueRange args) {
        prefetchNextHead(place, tile, panel, panels);
        Values scores(rows * vectors, b.splat(0));
        scores = b.unrolledLoop(headDim, scores, [&](Value d, Values &s) {
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
        if (relative.columns)
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
  for (int64_t i = 0; i < rows; ++i)
    b.storeVector(best[i], place.best, {b.index(i), b.index(0)});
}

void AttentionNest::emitSoftmax(Place &place, const Tile &tile, Value panels) {
  constexpr float lowest = std::numeric_limits<float>::lowest();
  Value local = b.sub(tile.start, place.first), zero = b.index(0);
  auto before = [&](Value buffer, int64_t i, int64_t count, double initial) {
    Value old = b.loadVector(buffer, b.add(local, i), count);
    return b.select(place.isFirst, b.splat(initial), old);
  };
  // Each row by itself, in loops whose turns do not wait for each other; a row's numbers are lanes
  // of vectors between them.
  Values best = rowsToLanes(
      tile, [&](Value row) { return b.maxLane(b.loadVector(place.best, {row, zero})); });
  forRowVectors([&](int64_t i, int64_t count) {
    Value old = before(place.maxima, i, count, lowest);
    Value highest = best[i / b.lanes()];
    if (inMatrices) // whole numbers
      highest = math::CeilOp::create(b, highest);
    Value now = emitMax(b, old, highest);
    b.storeVector(now, place.highest, b.index(i));
    b.storeVector(now, place.maxima, b.add(local, i), count);
    Value alpha = b.ifElse(
        place.isFirst, b.vectorType(), [&] { return Values{b.splat(0)}; },
        [&] { return emitExp2NonPositive(b, b.subf(old, now)); })[0];
    b.storeVector(alpha, place.alphas, b.index(i));
  });
  constexpr int64_t together = 2; // rows: powers of two of one would wait for each other
  Value whole = b.mul(b.div(tile.height, together), together);
  b.forEach(zero, whole, together, [&](Value first) {
    Values rows;
    for (int64_t i = 0; i < together; ++i)
      rows.push_back(b.add(first, i));
    emitProbabilities(place, panels, rows);
  });
  b.forEach(whole, tile.height, 1, [&](Value row) { emitProbabilities(place, panels, row); });
  Values sums = rowsToLanes(
      tile, [&](Value row) { return b.sumLanes(b.loadVector(place.best, {row, zero})); });
  forRowVectors([&](int64_t i, int64_t count) {
    Value old = before(place.sums, i, count, 0), one = b.splat(1);
    Value sum = emitFma(b, old, b.loadVector(place.alphas, b.index(i)), sums[i / b.lanes()]);
    b.storeVector(sum, place.sums, b.add(local, i), count);
    b.storeVector(b.select(tile.isLast, b.divf(one, sum), one), place.inverses, b.index(i));
  });
  if (logSumExp)
    b.ifThen(tile.isLast, [&] { storeLogSumExp(place, tile); });
}

void AttentionNest::storeLogSumExp(Place &place, const Tile &tile) {
  constexpr double ln2 = 0.6931471805599453; // maxima are logarithms to the base of 2
  b.forEach(b.index(0), tile.height, 1, [&](Value row) {
    Value at = b.add(b.sub(tile.start, place.first), row);
    Value logarithm = math::LogOp::create(b, b.load(place.sums, at));
    b.store(emitFma(b, b.load(place.maxima, at), b.scalar(ln2), logarithm), logSumExp,
            {b.add(place.queryRow, queryOf(place, tile, row)), place.head});
  });
}

Values AttentionNest::rowsToLanes(const Tile &tile, function_ref<Value(Value)> number) {
  Values zeros(llvm::divideCeil(tileRows, b.lanes()), b.splat(0));
  return b.loop(b.index(0), tile.height, 1, zeros, [&](Value row, ValueRange args) {
    Value x = b.broadcast(number(row));
    Values next;
    for (auto [i, before] : llvm::enumerate(args)) // the lanes behind the row's are overwritten
      next.push_back(b.select(b.lanesBelow(row, i * b.lanes()), before, x));
    return next;
  });
}

void AttentionNest::forRowVectors(function_ref<void(int64_t, int64_t)> body) {
  for (int64_t i = 0; i < tileRows; i += b.lanes())
    body(i, std::min(b.lanes(), tileRows - i));
}

void AttentionNest::emitProbabilities(Place &place, Value panels, ValueRange rows) {
  Value end = b.mul(panels, panelColumns);
  Values zeros(rows.size(), b.splat(0)), shift;
  for (Value row : rows)
    shift.push_back(b.broadcast(b.load(place.highest, row)));
  Values sums = b.loop(b.index(0), end, panelColumns, zeros, [&](Value column, ValueRange args) {
    auto at = [&](Value row, int64_t j) {
      return SmallVector<Value>{row, b.add(column, j * b.lanes())};
    };
    Values x, sums(args);
    for (auto [row, most] : llvm::zip_equal(rows, shift))
      for (int64_t j = 0; j < vectors; ++j)
        x.push_back(b.subf(b.loadVector(place.strip, at(row, j)), most));
    Values p = emitExp2NonPositive(b, x);
    for (auto [i, row] : llvm::enumerate(rows)) {
      ValueRange ofRow = ValueRange(p).slice(i * vectors, vectors);
      for (int64_t j = 0; j < vectors; ++j)
        sums[i] = b.addf(sums[i], ofRow[j]);
      if (inMatrices)
        storeProbabilities(place, ofRow, row, column);
      for (int64_t j = 0; j < vectors && !inMatrices; ++j)
        b.storeVector(ofRow[j], place.strip, at(row, j));
    }
    return sums;
  });
  for (auto [row, sum] : llvm::zip_equal(rows, sums))
    b.storeVector(sum, place.best, {row, b.index(0)});
}

void AttentionNest::dropProbabilities(Place &place, const Tile &tile) {
  DropoutFactors factors(b, dropoutKey, dropoutRate, b.add(place.head, 1));
  b.forEach(b.index(0), tile.height, 1, [&](Value i) {
    Value row = b.add(place.queryRow, queryOf(place, tile, i));
    factors.multiplyGroups(place.strip, i, row, place.block, tile.keys);
  });
}

void AttentionNest::forOutputPanels(function_ref<void(Value, int64_t)> columns) {
  int64_t whole = headDim / panelColumns;
  if (whole)
    b.forEach(b.index(0), b.index(whole), 1, [&](Value panel) { columns(panel, panelColumns); });
  if (whole * panelColumns < headDim)
    columns(b.index(whole), headDim - whole * panelColumns);
}

void AttentionNest::emitOutput(Place &place, Tile &tile) {
  forOutputPanels(
      [&](Value panel, int64_t width) { emitOutputColumns(place, tile, panel, width); });
}

void AttentionNest::emitOutputColumns(Place &place, Tile &tile, Value panel, int64_t width) {
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
        for (int64_t i = 0; i < rows; ++i) {
          Value alpha = b.broadcast(b.load(place.alphas, b.index(i)));
          for (int64_t j = 0; j < n; ++j)
            old.push_back(b.mulf(alpha, b.loadVector(out, at(i, j), count(j))));
        }
        return old;
      });
  Value valueColumn = b.add(place.valueColumn, b.mul(panel, panelColumns));
  sums = b.unrolledLoop(b.index(0), tile.keys, sums, [&](Value key, Values &s) {
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
  for (int64_t i = 0; i < rows; ++i) {
    Value inverse = b.broadcast(b.load(place.inverses, b.index(i)));
    for (int64_t j = 0; j < n; ++j)
      b.storeVector(b.mulf(sums[i * n + j], inverse), out, at(i, j), count(j));
  }
}
