//===- AttentionTile.cpp - a block's tile of rows and columns -------------===//
#include "codegen/gpu/nests/AttentionTile.h"
#include "codegen/gpu/nests/Blocks.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

namespace {

/// Four numbers of a vector in shared memory, as f32.
Values loadFourOf(Loops &b, Value vectors, ValueRange at) {
  if (!halfType(vectors))
    return loadFour(b, vectors, at);
  Values four = loadVector(b, vectors, at, 4);
  for (Value &each : four)
    each = arith::ExtFOp::create(b, b.getF32Type(), each);
  return four;
}

Value fma(Loops &b, Value x, Value y, Value sum) { return math::FmaOp::create(b, x, y, sum); }

} // namespace

AttentionTile::AttentionTile(Loops &b, TileShape shape, Value thread)
    : b(b), shape(shape), thread(thread) {
  constexpr int64_t lanes = TileShape::lanes, rows = TileShape::rowsAtOnce;
  lane = b.rem(thread, lanes);
  Value inWarp = b.rem(b.div(thread, lanes), rows), warp = b.div(thread, lanes * rows);
  firstRow = b.add(b.mul(warp, shape.rowsOfWarp()), inWarp);
}

// Neighbouring rows are in different banks.
Value AttentionTile::row(int64_t i) const { return b.add(firstRow, i * TileShape::rowsAtOnce); }

Value AttentionTile::column(int64_t i) const { return b.add(lane, i * TileShape::lanes); }

Value AttentionTile::vectors(int64_t count, FloatType type) const {
  int64_t stride = kernel::isHalf(type) ? shape.strideOfHalves() : shape.stride();
  Value buffer = sharedMemory(b, {count, stride}, type);
  Value zero = arith::ConstantOp::create(b, b.getFloatAttr(type, 0));
  int64_t behind = shape.numbersOfThread() * TileShape::lanes - shape.headDim;
  if (behind) {
    int64_t zeros = count * behind, steps = llvm::divideCeil(zeros, shape.threads());
    b.forEach(b.index(0), b.index(steps), [&](Value step) {
      Value i = b.add(b.mul(step, shape.threads()), thread);
      b.ifThen(b.less(i, b.index(zeros)), [&] {
        b.store(zero, buffer, {b.div(i, behind), b.add(b.rem(i, behind), shape.headDim)});
      });
    });
  }
  return buffer;
}

Value AttentionTile::weights() const {
  return sharedMemory(b, {shape.rows(), shape.columns + 4}, b.getF32Type());
}

void AttentionTile::copy(Value to, Value first, int64_t count,
                         function_ref<Vector(Value)> from) const {
  int64_t width = halfType(to) && shape.headDim % 8 == 0 ? 8 : 4; // numbers at once
  int64_t parts = shape.headDim / width, all = count * parts;
  int64_t steps = llvm::divideCeil(all, shape.threads());
  b.forEach(b.index(0), b.index(steps), [&](Value step) {
    Value part = b.add(b.mul(step, shape.threads()), thread);
    auto copyPart = [&] {
      Value i = b.div(part, parts), column = b.mul(b.rem(part, parts), width);
      Vector vector = from(i);
      Values at = vector.row.at;
      at.push_back(b.add(vector.column, column));
      copyAsyncIf(b, Value(), vector.row.buffer, at, to, Values{b.add(first, i), column}, width);
    };
    if (all % shape.threads())
      b.ifThen(b.less(part, b.index(all)), copyPart);
    else
      copyPart();
  });
}

Values AttentionTile::products(Value left, Value right, Value first) const {
  int64_t rows = shape.rowsOfThread, columns = shape.columnsOfThread();
  Values zeros(rows * columns, b.scalar(0));
  return b.loop(b.index(0), b.index(llvm::divideCeil(shape.headDim, 4)), zeros,
                [&](Value step, ValueRange sums) {
                  Value d = b.mul(step, 4);
                  SmallVector<Values> x, y;
                  for (int64_t i = 0; i < rows; ++i)
                    x.push_back(loadFour(b, left, {row(i), d}));
                  for (int64_t i = 0; i < columns; ++i)
                    y.push_back(loadFourOf(b, right, {b.add(first, column(i)), d}));
                  Values next(sums);
                  for (int64_t e = 0; e < 4; ++e)
                    for (int64_t i = 0; i < rows; ++i)
                      for (int64_t j = 0; j < columns; ++j)
                        next[i * columns + j] = fma(b, x[i][e], y[j][e], next[i * columns + j]);
                  return next;
                });
}

Values AttentionTile::addWeighted(ValueRange sums, Value weights, Value right, Value first) const {
  int64_t rows = shape.rowsOfThread, numbers = shape.numbersOfThread();
  return b.loop(b.index(0), b.index(shape.columns / 4), sums, [&](Value step, ValueRange before) {
    Value column = b.mul(step, 4);
    SmallVector<Values> weight;
    for (int64_t i = 0; i < rows; ++i)
      weight.push_back(loadFour(b, weights, {row(i), column}));
    Values next(before);
    for (int64_t e = 0; e < 4; ++e) {
      Value vector = b.add(b.add(first, column), e);
      for (int64_t v = 0; v < shape.foursOfThread(); ++v) {
        Value d = b.add(b.mul(lane, 4), v * 4 * TileShape::lanes);
        Values x = loadFourOf(b, right, {vector, d});
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t n = 0; n < 4; ++n) {
            Value &sum = next[i * numbers + 4 * v + n];
            sum = fma(b, weight[i][e], x[n], sum);
          }
      }
    }
    return next;
  });
}

void AttentionTile::putWeight(Value value, Value weights, int64_t i, int64_t j) const {
  b.store(value, weights, {row(i), column(j)});
}

Value AttentionTile::overRow(ArrayRef<Value> values,
                             function_ref<Value(Value, Value)> combine) const {
  Value result = values.front();
  for (Value value : values.drop_front())
    result = combine(result, value);
  return overLanes(b, result, TileShape::lanes, combine);
}

void AttentionTile::forFours(function_ref<void(int64_t, Value)> body) const {
  for (int64_t v = 0; v < shape.foursOfThread(); ++v) {
    Value column = b.add(b.mul(lane, 4), v * 4 * TileShape::lanes);
    if ((v + 1) * 4 * TileShape::lanes <= shape.headDim)
      body(4 * v, column);
    else
      b.ifThen(b.less(column, b.index(shape.headDim)), [&] { body(4 * v, column); });
  }
}

void AttentionTile::put(const Vector &vector, bool reads,
                        function_ref<Value(Value, int64_t)> next) const {
  Value buffer = vector.row.buffer;
  bool fours = hasFours(buffer, shape.headDim);
  forFours([&](int64_t first, Value column) {
    auto at = [&](int64_t n) {
      Values place = vector.row.at;
      place.push_back(b.add(b.add(vector.column, column), n));
      return place;
    };
    Values old(4, Value()), values;
    if (reads && fours)
      old = loadFour(b, buffer, at(0));
    for (int64_t n = 0; n < 4; ++n) {
      if (reads && !fours)
        old[n] = b.load(buffer, at(n));
      values.push_back(next(old[n], first + n));
    }
    if (fours)
      return storeFour(b, values, buffer, at(0));
    for (int64_t n = 0; n < 4; ++n)
      b.store(values[n], buffer, at(n));
  });
}

void AttentionTile::update(const Vector &vector, function_ref<Value(Value, int64_t)> next) const {
  put(vector, /*reads=*/true, next);
}

void AttentionTile::store(ArrayRef<Value> values, const Vector &vector) const {
  put(vector, /*reads=*/false, [&](Value, int64_t n) { return values[n]; });
}

bool transformer::simt::hasFours(Value buffer, int64_t headDim) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(cast<MemRefType>(buffer.getType()).getStridesAndOffset(strides, offset)))
    return false;
  auto isMultiple = [](int64_t v) { return !ShapedType::isDynamic(v) && v % 4 == 0; };
  return headDim % 4 == 0 && isMultiple(offset) && strides.back() == 1 &&
         llvm::all_of(ArrayRef(strides).drop_back(), isMultiple);
}

Value transformer::simt::countTiles(Loops &b, Value tokens, Value cu, int64_t group, int64_t rows) {
  Value sequences = b.sub(b.dim(cu, 0), b.index(1));
  return b.add(b.div(b.mul(tokens, group), rows), sequences);
}

namespace {

/// A sequence's tiles begin at the number of whole tiles before its first row and one more for each
/// sequence before it: those are enough, and nothing but that row must be known.
Value firstTile(Loops &b, Value sequence, Value cu, int64_t group, int64_t rows) {
  return b.add(b.div(b.mul(b.load(cu, sequence), group), rows), sequence);
}

SequenceTile tileOf(Loops &b, Value number, Value sequence, Value cu, int64_t group, int64_t rows) {
  SequenceTile tile;
  tile.sequence = sequence;
  tile.first = b.mul(b.sub(number, firstTile(b, sequence, cu, group, rows)), rows);
  tile.firstRow = b.load(cu, sequence);
  tile.tokens = b.sub(b.load(cu, b.add(sequence, 1)), tile.firstRow);
  return tile;
}

} // namespace

SequenceTile transformer::simt::findTile(Loops &b, Value number, Value cu, int64_t group,
                                         int64_t rows) {
  Value none = b.index(0), last = b.sub(b.dim(cu, 0), b.index(2));
  Value sequence = b.loop(none, last, none, [&](Value i, ValueRange before) {
    Value begun =
        b.compare(arith::CmpIPredicate::ule, firstTile(b, b.add(i, 1), cu, group, rows), number);
    return Values{b.add(before[0], arith::IndexCastUIOp::create(b, b.getIndexType(), begun))};
  })[0];
  return tileOf(b, number, sequence, cu, group, rows);
}

SequenceTile transformer::simt::findTileByWarp(Loops &b, Value number, Value thread, Value cu,
                                               int64_t group, int64_t rows) {
  constexpr int64_t lanes = TileShape::lanes * TileShape::rowsAtOnce;
  Value lane = b.rem(thread, lanes), last = b.sub(b.dim(cu, 0), b.index(2));
  Value ofLane = b.div(b.sub(b.add(last, lanes - 1), lane), lanes); // every 32nd sequence
  Value none = arith::ConstantIntOp::create(b, 0, 32);
  Value begun = b.loop(b.index(0), ofLane, none, [&](Value i, ValueRange before) {
    Value next = b.add(b.add(b.mul(i, lanes), lane), 1);
    Value isBegun =
        b.compare(arith::CmpIPredicate::ule, firstTile(b, next, cu, group, rows), number);
    return Values{b.add(before[0], arith::ExtUIOp::create(b, b.getI32Type(), isBegun))};
  })[0];
  auto sum = [&](Value x, Value y) { return b.add(x, y); };
  Value sequence = arith::IndexCastOp::create(b, b.getIndexType(), overLanes(b, begun, lanes, sum));
  return tileOf(b, number, sequence, cu, group, rows);
}

QueryRow transformer::simt::queryRow(const AttentionScores &scores, const SequenceTile &sequence,
                                     Value keys, Value kvHead, Value number) {
  Loops &b = scores.b;
  int64_t group = scores.group();
  Value count = b.mul(sequence.tokens, group);
  QueryRow row;
  row.isThere = b.less(number, count);
  number = b.min(number, b.sub(count, b.index(1)));
  Value token = b.div(number, group);
  row.query = b.add(sequence.firstRow, token);
  row.head = b.add(b.mul(kvHead, group), b.rem(number, group));
  row.place = b.add(token, b.sub(keys, sequence.tokens));
  std::tie(row.from, row.end) = scores.keysOf(row.place, keys);
  return row;
}
