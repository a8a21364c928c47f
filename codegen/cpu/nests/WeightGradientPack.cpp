//===- WeightGradientPack.cpp - tokens in strips and panels ---------------===//
#include "codegen/cpu/nests/WeightGradientPack.h"
#include "codegen/cpu/linear/Parts.h"
#include "codegen/cpu/nests/Bfloat16.h"
#include "codegen/cpu/nests/Rows.h"
#include "codegen/math/VectorMath.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Columns `first` and those behind it of a token, as numbers or, if x is rounded, as words.
Value loadToken(Emit &b, Value x, Value token, Value first, int64_t columns, int64_t there) {
  if (areWords(x))
    return loadWords(b, x, token, first, columns, there);
  return loadColumns(b, VectorType::get({columns}, b.getF32Type()), x, token, first, there);
}

/// Stores what is loaded of each token in `begin .. end`, or, as pairs, of two; `begin` is even.
void forEachStep(Emit &b, bool pairs, int64_t parts, Value begin, Value end,
                 function_ref<Values(Value token)> load,
                 function_ref<void(Value step, ValueRange vectors)> store) {
  if (!pairs)
    return b.forEach(begin, end, 1, [&](Value token) { store(token, load(token)); });
  Value last = b.sub(end, b.rem(end, b.index(2)));
  b.forEach(begin, last, 2, [&](Value token) {
    Values words, earlier = load(token);
    for (auto [lower, upper] : llvm::zip_equal(earlier, load(b.add(token, 1))))
      words.append(emitPairs(b, lower, upper, parts));
    store(b.div(token, 2), words);
  });
  b.ifThen(b.lt(last, end), [&] { // with no other
    Values words;
    for (Value lower : load(last))
      words.append(
          emitPairs(b, lower, arith::ConstantOp::create(b, b.getZeroAttr(lower.getType())), parts));
    store(b.div(last, 2), words);
  });
}

class Strips {
public:
  Strips(Emit &b, Value x, int64_t rows, Value strips)
      : b(b), x(x), strips(strips), rows(rows), height(rowWidth(strips)), tokens(b.dim(x, 0)) {}

  /// Side by side, all of them whole: each vector of a row has those of some strips.
  void packWhole(Value first, int64_t count) {
    Value column = b.mul(first, height);
    auto load = [&](Value token) {
      int64_t ofNumber = areWords(x) ? 2 : 1;
      b.prefetchRow(x, b.add(token, kTokensAhead), b.div(column, ofNumber),
                    count * height / ofNumber);
      Values row;
      for (int64_t i = 0; i < count * height; i += b.lanes())
        row.push_back(loadToken(b, x, token, b.add(column, i), b.lanes(), b.lanes()));
      return row;
    };
    auto store = [&](Value step, ValueRange row) {
      int64_t ofVector = b.lanes() / height;
      for (int64_t i = 0; i < count; ++i) {
        Value own = row[i / ofVector];
        own = vector::ExtractStridedSliceOp::create(b, own, i % ofVector * height, height, 1);
        vector::StoreOp::create(b, own, strips, ValueRange{b.add(first, i), step, b.index(0)});
      }
    };
    forEachStep(b, areWords(strips), parts::kRounded, b.index(0), tokens, load, store);
  }

  /// Rows in short blocks: the lines of the strips stay in the cache until they are full.
  void packEach(std::pair<Value, Value> range) {
    constexpr int64_t blockTokens = 16;
    b.forEach(b.index(0), tokens, blockTokens, [&](Value begin) {
      Value end = b.min(b.add(begin, blockTokens), tokens);
      forEachStrip(b, range, rows, height, [&](Value strip, int64_t there) {
        forEachStep(
            b, areWords(strips), parts::kRounded, begin, end,
            [&](Value token) {
              return Values{loadToken(b, x, token, b.mul(strip, height), height, there)};
            },
            [&](Value step, ValueRange v) {
              vector::StoreOp::create(b, v[0], strips, ValueRange{strip, step, b.index(0)});
            });
      });
    });
  }

private:
  Emit &b;
  Value x, strips;
  int64_t rows, height;
  Value tokens;
};

} // namespace

void transformer::forEachStrip(Emit &b, std::pair<Value, Value> range, int64_t rows, int64_t height,
                               function_ref<void(Value strip, int64_t there)> body) {
  Value whole = b.index(rows / height);
  b.forEach(range.first, b.min(range.second, whole), 1, [&](Value strip) { body(strip, height); });
  if (rows % height)
    b.ifThen(b.both(b.le(range.first, whole), b.lt(whole, range.second)),
             [&] { body(whole, rows % height); });
}

int64_t transformer::lanesOfVector(const Emit &b, int64_t there, int64_t j) {
  return std::clamp<int64_t>(there - j * b.lanes(), 0, b.lanes());
}

void transformer::packTokenStrips(Emit &b, Value x, int64_t rows, Value strips, Value first,
                                  int64_t count) {
  Strips pack(b, x, rows, strips);
  int64_t height = rowWidth(strips);
  std::pair range(first, b.add(first, count));
  if (b.lanes() % height || rows < height * count)
    return pack.packEach(range);
  if (rows % (height * count) == 0)
    return pack.packWhole(first, count);
  b.ifElse(
      b.le(range.second, b.index(rows / height)), {},
      [&] {
        pack.packWhole(first, count);
        return Values();
      },
      [&] {
        pack.packEach(range);
        return Values();
      });
}

void transformer::packTokenPanel(Emit &b, Value dy, Value panels, Value panel, int64_t there,
                                 int64_t parts, Value steps) {
  bool inParts = cast<MemRefType>(panels.getType()).getRank() == 4;
  int64_t width = rowWidth(panels), vectors = width / b.lanes();
  Value tokens = b.dim(dy, 0);
  auto load = [&](Value token) {
    Values row;
    for (int64_t j = 0; j < vectors; ++j) {
      Value column = b.add(b.mul(panel, width), j * b.lanes());
      int64_t lanes = lanesOfVector(b, there, j);
      row.push_back(loadToken(b, dy, token, column, b.lanes(), lanes));
    }
    return row;
  };
  auto store = [&](Value step, ValueRange row) { // vectors, each with its parts
    for (auto [i, words] : llvm::enumerate(row)) {
      Values at = {panel, step, b.index(i / parts * b.lanes())};
      if (inParts)
        at.insert(at.begin() + 1, b.index(i % parts));
      b.storeVector(words, panels, at);
    }
  };
  forEachStep(b, areWords(panels), parts, b.index(0), tokens, load, store);
  if (!inParts)
    return;
  Value zero = integerConstant(b, b.vectorType(), 0);
  b.forEach(b.ceilDiv(tokens, 2), steps, 1,
            [&](Value step) { store(step, Values(vectors * parts, zero)); });
}
