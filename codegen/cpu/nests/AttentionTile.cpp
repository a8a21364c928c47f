//===- AttentionTile.cpp - attention of a register tile of queries --------===//
//
// For each block of keys: scores of the tile into a strip, their maxima, powers
// of two in place, then P V. The output row holds the sum so far; when a block
// raises the maximum it is rescaled, in the last block divided by the sum.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/nests/AttentionNest.h"
#include "codegen/cpu/nests/VectorMath.h"
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

void AttentionNest::emitRowTiles(Place &place, Value first, Value end) {
  // Tile heights, ascending. A remainder that only a higher tile would cover is
  // covered by moving that tile back over rows that are done: they get the same
  // bits again.
  SmallVector<int64_t> heights = {1, 2, 4};
  while (heights.back() >= tileRows)
    heights.pop_back();
  heights.push_back(tileRows);

  Type indexType = b.getIndexType();
  auto loop = scf::WhileOp::create(b, indexType, first);
  OpBuilder::InsertionGuard guard(b);
  Block *before = b.createBlock(&loop.getBefore(), {}, indexType, b.getLoc());
  scf::ConditionOp::create(b, b.lt(before->getArgument(0), end), before->getArguments());
  Block *after = b.createBlock(&loop.getAfter(), {}, indexType, b.getLoc());
  Value row = after->getArgument(0), left = b.sub(end, row), available = b.sub(end, first);
  Value height = b.index(1);
  for (auto [lower, higher] : llvm::zip(heights, llvm::drop_begin(heights))) {
    Value wanted = b.lt(b.index(lower), left), possible = b.le(b.index(higher), available);
    height = b.select(b.both(wanted, possible), b.index(higher), height);
  }
  Value start = b.min(row, b.sub(end, height));
  ArrayRef<int64_t> cases = ArrayRef(heights).drop_back();
  auto choice = scf::IndexSwitchOp::create(b, TypeRange(), height, cases, cases.size());
  auto fill = [&](Region &region, int64_t rows) {
    OpBuilder::InsertionGuard caseGuard(b);
    b.createBlock(&region);
    emitTile(place, start, rows);
    scf::YieldOp::create(b);
  };
  fill(choice.getDefaultRegion(), tileRows);
  for (auto [region, rows] : llvm::zip_equal(choice.getCaseRegions(), cases))
    fill(region, rows);
  scf::YieldOp::create(b, b.add(start, height));
}

void AttentionNest::scaleQueries(Place &place, Value start, int64_t rows) {
  auto piece = [&](Value i, Value d, int64_t count) {
    Value row = b.add(b.add(place.queryRow, start), i);
    Value x = b.loadVector(q, {row, b.add(place.column, d)}, count);
    b.storeVector(b.mulf(x, place.factor), place.queries, {i, d}, count);
  };
  int64_t whole = headDim / b.lanes() * b.lanes();
  b.forEach(b.index(0), b.index(rows), 1, [&](Value i) {
    for (int64_t d = 0; d < whole; d += b.lanes())
      piece(i, b.index(d), b.lanes());
    if (whole < headDim)
      piece(i, b.index(whole), headDim - whole);
  });
}

void AttentionNest::emitTile(Place &place, Value start, int64_t rows) {
  scaleQueries(place, start, rows);
  Value zero = b.index(0);
  Value keys = causal ? b.min(place.keys, b.add(start, rows)) : place.keys;
  Values state(rows, b.scalar(std::numeric_limits<float>::lowest())); // maxima
  state.append(rows, b.scalar(0));                                    // sums
  b.loop(zero, keys, keyBlock, state, [&](Value block, ValueRange args) {
    ValueRange oldMaximum = args.take_front(rows), oldSum = args.drop_front(rows);
    Value left = b.sub(keys, block), blockKeys = b.min(left, b.index(keyBlock));
    Value blockPanels = b.ceilDiv(blockKeys, panelColumns);
    Value isFirst = b.eq(block, zero), isLast = b.le(left, b.index(keyBlock));

    Values best = emitScores(place, start, rows, block, blockKeys, blockPanels);
    Values maximum, shift, change;
    for (int64_t i = 0; i < rows; ++i) {
      maximum.push_back(emitMax(b, oldMaximum[i], b.maxLane(best[i])));
      shift.push_back(b.broadcast(maximum[i]));
    }
    SmallVector<Type> types(rows, b.vectorType());
    Values alpha = b.ifElse(
        isFirst, types, [&] { return Values(rows, b.splat(0)); },
        [&] {
          Values x;
          for (int64_t i = 0; i < rows; ++i)
            x.push_back(b.broadcast(b.subf(oldMaximum[i], maximum[i])));
          return emitExp2NonPositive(b, x);
        });
    Values sums = emitProbabilities(place, rows, blockPanels, shift);
    Values sum, inverse;
    for (int64_t i = 0; i < rows; ++i) {
      Value a = vector::ExtractOp::create(b, alpha[i], ArrayRef<int64_t>{0});
      sum.push_back(emitFma(b, oldSum[i], a, b.sumLanes(sums[i])));
      Value one = b.scalar(1);
      inverse.push_back(b.broadcast(b.select(isLast, b.divf(one, sum[i]), one)));
    }
    emitOutput(place, start, rows, block, blockKeys, isFirst, alpha, inverse);
    maximum.append(sum);
    return maximum;
  });
}

Values AttentionNest::emitScores(Place &place, Value start, int64_t rows, Value block,
                                 Value blockKeys, Value blockPanels) {
  constexpr float lowest = -std::numeric_limits<float>::infinity();
  int64_t lanes = b.lanes();
  Value firstPanel = b.add(place.firstPanel, b.div(block, panelColumns));
  return b.loop(
      b.index(0), blockPanels, 1, Values(rows, b.splat(lowest)), [&](Value panel, ValueRange args) {
        Values scores(rows * vectors, b.splat(0));
        scores = unrolledLoop(b, headDim, scores, [&](Value d, Values &s) {
          Values keys;
          for (int64_t j = 0; j < vectors; ++j)
            keys.push_back(b.loadVector(
                panels, {b.add(firstPanel, panel), place.kvHead, d, b.index(j * lanes)}));
          for (int64_t i = 0; i < rows; ++i) {
            Value x = b.broadcast(b.load(place.queries, {b.index(i), d}));
            for (int64_t j = 0; j < vectors; ++j)
              s[i * vectors + j] = emitFma(b, x, keys[j], s[i * vectors + j]);
          }
        });
        Value column = b.mul(panel, panelColumns);
        scores = maskScores(scores, start, rows, b.add(block, column), b.sub(blockKeys, column));
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

/// Minus infinity where a row has no key: behind the sequence and, causal,
/// behind the row's own position.
Values AttentionNest::maskScores(Values scores, Value start, int64_t rows, Value firstKey,
                                 Value keysLeft) {
  Value visible = causal ? b.sub(b.add(start, 1), firstKey) : keysLeft; // to the tile's first row
  Value needed = b.compare(arith::CmpIPredicate::slt, visible, b.index(panelColumns));
  SmallVector<Type> types(scores.size(), b.vectorType());
  return b.ifElse(
      needed, types,
      [&] {
        Value nothing = b.splat(-std::numeric_limits<float>::infinity());
        Values masked(scores);
        for (int64_t j = 0; j < vectors; ++j) {
          Value inside = b.lanesBelow(visible, j * b.lanes());
          for (int64_t i = 0; i < rows; ++i) {
            if (causal)
              inside = b.lanesBelow(b.add(visible, i), j * b.lanes());
            Value &s = masked[i * vectors + j];
            s = b.select(inside, s, nothing);
          }
        }
        return masked;
      },
      [&] { return scores; });
}

Values AttentionNest::emitProbabilities(Place &place, int64_t rows, Value blockPanels,
                                        ValueRange shift) {
  constexpr int64_t rowsPerGroup = 2;
  int64_t lanes = b.lanes();
  Value end = b.mul(blockPanels, panelColumns);
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

void AttentionNest::emitOutput(Place &place, Value start, int64_t rows, Value block,
                               Value blockKeys, Value isFirst, ValueRange alpha,
                               ValueRange inverse) {
  Value row = b.add(place.queryRow, start);
  int64_t group = vectors * b.lanes(), whole = headDim / group * group;
  auto columns = [&](Value column, int64_t width) {
    emitOutputColumns(place, row, rows, block, blockKeys, isFirst, alpha, inverse, column, width);
  };
  if (whole)
    b.forEach(b.index(0), b.index(whole), group, [&](Value column) { columns(column, group); });
  if (whole < headDim)
    columns(b.index(whole), headDim - whole);
}

void AttentionNest::emitOutputColumns(Place &place, Value row, int64_t rows, Value block,
                                      Value blockKeys, Value isFirst, ValueRange alpha,
                                      ValueRange inverse, Value column, int64_t width) {
  int64_t lanes = b.lanes(), n = (width + lanes - 1) / lanes;
  auto count = [&](int64_t j) { return std::min(lanes, width - j * lanes); };
  auto at = [&](int64_t i, int64_t j) {
    return SmallVector<Value>{b.add(row, i), b.add(b.add(place.column, column), j * lanes)};
  };
  SmallVector<Type> types(rows * n, b.vectorType());
  Values sums = b.ifElse(
      isFirst, types, [&] { return Values(rows * n, b.splat(0)); },
      [&] {
        Values old;
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < n; ++j)
            old.push_back(b.mulf(alpha[i], b.loadVector(out, at(i, j), count(j))));
        return old;
      });
  Value firstRow = b.add(place.keyRow, block), firstColumn = b.add(place.kvColumn, column);
  sums = unrolledLoop(b, blockKeys, sums, [&](Value key, Values &s) {
    Values values;
    for (int64_t j = 0; j < n; ++j)
      values.push_back(
          b.loadVector(v, {b.add(firstRow, key), b.add(firstColumn, j * lanes)}, count(j)));
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
