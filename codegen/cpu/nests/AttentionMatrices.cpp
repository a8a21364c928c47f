//===- AttentionMatrices.cpp - attention of 32 queries in matrix registers ----===//
//
// For attention whose options say that it multiplies bfloat16. Keys of a block are packed as words
// of two features, values as words of two keys, and both products are tiles of linear layers
// (linear/MatrixStep.h): scores go from the registers to the strip, probabilities as words to
// registers again. They are powers of two whose exponents are lessened by whole numbers, which
// rounding commutes with, so they are those of a softmax of the whole row that is rounded once.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/linear/MatrixStep.h"
#include "codegen/cpu/nests/AttentionNest.h"
#include "codegen/cpu/nests/Bfloat16.h"
#include "codegen/cpu/nests/Rows.h"
#include "codegen/math/VectorMath.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace mlir::transformer;

/// Words of a register's row: pairs of features, or of keys.
int64_t AttentionNest::matrixSize() const { return b.target.matrixRows(); }
int64_t AttentionNest::featureSteps() const { return llvm::divideCeil(headDim, 2 * matrixSize()); }

void AttentionNest::allocateMatrices(Place &place) {
  int64_t size = matrixSize(), steps = featureSteps(), keySteps = keyBlock / (2 * size);
  Type word = b.getI32Type();
  place.keyWords = b.stackBuffer({keySteps, steps * size, 2 * size}, word);
  place.valueWords = b.stackBuffer({steps, keyBlock / 2, 2 * size}, word);
  place.queryWords = b.stackBuffer({2, steps, size, size}, word);
  place.probabilityWords = b.stackBuffer({2, keySteps, size, size}, word);
  place.square = b.stackBuffer({steps, size, size}, word);
  place.products = b.stackBuffer({2 * size, 2 * size});
}

/// Features of a row as words, zeros behind the last one.
Value AttentionNest::wordsOf(Value from, Value row, Value column, int64_t step) {
  int64_t size = matrixSize(), first = 2 * size * step;
  Value features = loadColumns(b, VectorType::get({2 * size}, b.getF32Type()), from, row,
                               b.add(column, first), std::min(2 * size, headDim - first));
  return emitNeighbourPairs(b, features, parts::kRounded)[0];
}

void AttentionNest::packMatrices(Place &place) {
  int64_t size = matrixSize();
  Value firstKey = b.add(place.keyRow, place.block);
  Value lastKey = b.sub(b.add(firstKey, place.blockKeys), b.index(1));
  auto rowOf = [&](Value key) { return b.min(b.add(firstKey, key), lastKey); };
  Value zero = b.index(0), end = b.mul(place.blockPanels, panelColumns);
  b.forEach(zero, end, size, [&](Value key) {
    Value panel = b.div(key, panelColumns), column = b.rem(key, b.index(panelColumns));
    for (int64_t i = 0; i < size; ++i)
      for (int64_t step = 0; step < featureSteps(); ++step)
        vector::StoreOp::create(b, wordsOf(k, rowOf(b.add(key, i)), place.kvColumn, step),
                                place.square, ValueRange{b.index(step), b.index(i), zero});
    b.forEach(zero, b.index(featureSteps()), 1, [&](Value step) {
      for (auto [i, row] : llvm::enumerate(loadTransposed(b, place.square, step)))
        vector::StoreOp::create(b, row, place.keyWords,
                                ValueRange{panel, b.add(b.mul(step, size), i), column});
    });
  });
  // Behind the last key that one's values: finite where it is, and weighted by zero.
  b.forEach(zero, b.div(end, 2), 1, [&](Value pair) {
    Value lower = rowOf(b.mul(pair, 2)), upper = rowOf(b.add(b.mul(pair, 2), 1));
    for (int64_t column = 0; column < headDim; column += size) {
      int64_t count = std::min(size, headDim - column);
      Value at = b.add(place.valueColumn, column);
      Value words = emitPairs(b, b.loadVector(v, {lower, at}, count),
                              b.loadVector(v, {upper, at}, count), parts::kRounded)[0];
      Value panel = b.index(column / (2 * size)), inPanel = b.index(column % (2 * size));
      vector::StoreOp::create(b, words, place.valueWords, ValueRange{panel, pair, inPanel});
    }
  });
}

void AttentionNest::roundQueries(Place &place, const Tile &tile) {
  Value size = b.index(matrixSize()), zero = b.index(0);
  b.forEach(zero, tile.height, 1, [&](Value i) {
    Value row = b.add(place.queryRow, b.add(tile.start, i));
    for (int64_t step = 0; step < featureSteps(); ++step)
      vector::StoreOp::create(
          b, wordsOf(q, row, place.column, step), place.queryWords,
          ValueRange{b.div(i, matrixSize()), b.index(step), b.rem(i, size), zero});
  });
}

void AttentionNest::multiplyTile(Value rows, Value panels, Value panel, Value steps, Value into,
                                 Value column) {
  int64_t size = matrixSize();
  Value zero = b.index(0);
  forSums([&](int64_t sum, int64_t, int64_t) { cpu::ZeroMatrixOp::create(b, sum); });
  b.forEach(zero, steps, 1, [&](Value step) {
    emitMatrixStep(
        b, parts::kRounded, /*halves=*/2, rows,
        [&](int64_t, int64_t i, bool) { return Values{b.index(i), step, zero, zero}; }, panels,
        [&](int64_t, int64_t j, bool) {
          return Values{panel, b.mul(step, size), b.index(j * size)};
        });
  });
  forSums([&](int64_t sum, int64_t i, int64_t j) {
    cpu::StoreMatrixOp::create(b, sum, into,
                               ValueRange{b.index(i * size), b.add(column, j * size)});
  });
}

void AttentionNest::emitMatrixTile(Place &place, Tile &tile) {
  Value zero = b.index(0), panels = b.ceilDiv(tile.keys, panelColumns);
  roundQueries(place, tile);
  b.forEach(zero, panels, 1, [&](Value panel) {
    multiplyTile(place.queryWords, place.keyWords, panel, b.index(featureSteps()), place.strip,
                 b.mul(panel, panelColumns));
  });
  b.forEach(zero, tile.height, 1, [&](Value i) { scaleScores(place, tile, i, panels); });
  emitSoftmax(place, tile, panels);
  forOutputPanels([&](Value panel, int64_t width) {
    multiplyTile(place.probabilityWords, place.valueWords, panel, panels, place.products, zero);
    Value column = b.mul(panel, panelColumns);
    b.forEach(zero, tile.height, 1, [&](Value i) { addToOutput(place, tile, i, column, width); });
  });
}

/// A row of the strip: times the scale, with a bias, masked; its maximum.
void AttentionNest::scaleScores(Place &place, const Tile &tile, Value i, Value panels) {
  constexpr float lowest = -std::numeric_limits<float>::infinity();
  Tile row = tile;
  row.start = b.add(tile.start, i);
  row.rows = 1;
  row.row = {row.start};
  Value best = b.loop(b.index(0), panels, 1, b.splat(lowest), [&](Value panel, ValueRange before) {
    Value column = b.mul(panel, panelColumns), firstKey = b.add(place.block, column);
    auto at = [&](int64_t j) { return Values{i, b.add(column, j * b.lanes())}; };
    Values scores;
    for (int64_t j = 0; j < vectors; ++j)
      scores.push_back(b.mulf(b.loadVector(place.strip, at(j)), place.factor));
    if (bias)
      scores = addBias(scores, place, row, firstKey);
    scores = maskScores(scores, place, row, firstKey, b.sub(tile.keys, column));
    Value highest = before[0];
    for (int64_t j = 0; j < vectors; ++j) {
      b.storeVector(scores[j], place.strip, at(j));
      highest = emitMax(b, highest, scores[j]);
    }
    return Values{highest};
  })[0];
  b.storeVector(best, place.best, {i, b.index(0)});
}

/// The probabilities of a panel's keys, to where the product reads them.
void AttentionNest::storeProbabilities(Place &place, ValueRange p, Value row, Value column) {
  int64_t size = matrixSize();
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(2 * size));
  Value both = vector::ShuffleOp::create(b, p[0], p[1], order);
  vector::StoreOp::create(b, emitNeighbourPairs(b, both, parts::kRounded)[0],
                          place.probabilityWords,
                          ValueRange{b.div(row, size), b.div(column, panelColumns),
                                     b.rem(row, b.index(size)), b.index(0)});
}

/// Columns of a row: out = (alpha out + P V) inverse, without the first term in the first block.
void AttentionNest::addToOutput(Place &place, const Tile &tile, Value i, Value column,
                                int64_t width) {
  Value row = b.add(place.queryRow, b.add(tile.start, i));
  Value inverse = b.broadcast(b.load(place.inverses, i));
  Value alpha = b.broadcast(b.load(place.alphas, i));
  for (int64_t first = 0; first < width; first += b.lanes()) {
    int64_t count = std::min(b.lanes(), width - first);
    Value sum = b.loadVector(place.products, {i, b.index(first)});
    SmallVector<Value> at = {row, b.add(b.add(place.column, column), first)};
    sum = b.ifElse(
        place.isFirst, b.vectorType(), [&] { return Values{sum}; },
        [&] { return Values{emitFma(b, alpha, b.loadVector(out, at, count), sum)}; })[0];
    b.storeVector(b.mulf(sum, inverse), out, at, count);
  }
}
