//===- WeightGradientMatrices.cpp - over tokens in matrix registers -------===//
//
// A register of the left factor is 16 columns of a by 16 pairs of tokens, one of the right factor
// as many pairs by 16 columns of b: the pairs of a are transposed on their way into strips.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/nests/WeightGradientMatrices.h"
#include "codegen/cpu/linear/MatrixStep.h"
#include "codegen/cpu/linear/Parts.h"
#include "codegen/cpu/nests/Bfloat16.h"
#include "codegen/cpu/nests/Rows.h"

using namespace mlir;
using namespace mlir::transformer;

Value transformer::matrixSquares(Emit &b, int64_t parts) {
  int64_t size = b.target.matrixRows();
  return b.stackBuffer({parts, size, size}, b.getI32Type());
}

void transformer::packMatrixStrip(Emit &b, const MatrixStrip &strip) {
  int64_t size = b.target.matrixRows(), height = 2 * size;
  int64_t parts = cast<MemRefType>(strip.into.getType()).getDimSize(2);
  Value tokens = b.dim(strip.x, 0), zero = b.index(0);
  Value first = b.mul(strip.begin, 2), last = b.min(tokens, b.mul(strip.end, 2));
  /// Words of the tokens from `token` on and of `count` columns, which may end within them.
  auto split = [&](Value token, Value column, int64_t count, bool isWhole) {
    Value columns = b.add(b.mul(strip.strip, height), column);
    auto read = [&](int64_t i) {
      Value at = b.add(token, i);
      if (isWhole)
        return b.loadVector(strip.x, {at, columns}, count);
      Value row = b.loadVector(strip.x, {b.min(at, b.sub(tokens, b.index(1))), columns}, count);
      return b.select(b.lt(at, tokens), row, b.splat(0));
    };
    for (int64_t i = 0; i < size; ++i) {
      Value earlier = read(2 * i);
      for (auto [part, pairs] : llvm::enumerate(emitPairs(b, earlier, read(2 * i + 1), parts)))
        vector::StoreOp::create(b, pairs, strip.squares,
                                ValueRange{b.index(part), b.index(i), zero});
    }
  };
  auto pack = [&](Value token, Value column, int64_t count) {
    auto splitTokens = [&](bool isWhole) {
      return [&, isWhole] {
        split(token, column, count, isWhole);
        return Values();
      };
    };
    b.ifElse(b.le(b.add(token, 2 * size), tokens), {}, splitTokens(/*isWhole=*/true),
             splitTokens(/*isWhole=*/false));
    Value ofTokens = b.div(b.sub(token, first), 2 * size);
    b.forEach(zero, b.index(parts), 1, [&](Value part) {
      for (auto [i, row] : llvm::enumerate(loadTransposed(b, strip.squares, part)))
        vector::StoreOp::create(b, row, strip.into,
                                ValueRange{strip.place, ofTokens, part, b.add(column, i), zero});
    });
  };
  int64_t whole = strip.there / size * size;
  b.forEach(first, last, 2 * size, [&](Value token) {
    b.forEach(zero, b.index(whole), size, [&](Value column) { pack(token, column, size); });
    if (whole < strip.there)
      pack(token, b.index(whole), strip.there - whole);
  });
}

Values transformer::addMatrixProducts(Emit &b, const MatrixTile &tile, ValueRange carried,
                                      function_ref<Values(Value, Value, ValueRange)> beside) {
  int64_t size = b.target.matrixRows();
  int64_t parts = cast<MemRefType>(tile.strips.getType()).getDimSize(2);
  auto placeOf = [&](int64_t i, int64_t j) {
    return Values{tile.place, b.index(i * size), b.index(j * size)};
  };
  b.ifElse(
      b.eq(tile.begin, b.index(0)), {},
      [&] {
        forSums([&](int64_t sum, int64_t, int64_t) { cpu::ZeroMatrixOp::create(b, sum); });
        return Values();
      },
      [&] {
        forSums([&](int64_t sum, int64_t i, int64_t j) {
          cpu::LoadMatrixOp::create(b, sum, tile.sums, placeOf(i, j));
        });
        return Values();
      });
  auto addStep = [&](Value step) {
    Value next = b.add(step, size);
    emitMatrixStep(
        b, parts, /*halves=*/2, tile.strips,
        [&](int64_t part, int64_t i, bool isNext) {
          Value words = b.add(b.sub(isNext ? next : step, tile.begin), tile.firstOfStrip);
          return Values{tile.strip, b.div(words, size), b.index(part), b.index(i * size),
                        b.index(0)};
        },
        tile.panels,
        [&](int64_t part, int64_t j, bool isNext) {
          return Values{tile.panel, b.index(part), isNext ? next : step, b.index(j * size)};
        });
  };
  Value turns = b.max(b.div(b.sub(tile.end, tile.begin), size), b.index(1));
  Values after = b.loop(b.index(0), turns, 1, carried, [&](Value turn, ValueRange before) {
    Values next = beside(turn, turns, before);
    Value step = b.add(tile.begin, b.mul(turn, size));
    b.ifThen(b.lt(step, tile.end), [&] { addStep(step); });
    return next;
  });
  forSums([&](int64_t sum, int64_t i, int64_t j) {
    cpu::StoreMatrixOp::create(b, sum, tile.sums, placeOf(i, j));
  });
  return after;
}
