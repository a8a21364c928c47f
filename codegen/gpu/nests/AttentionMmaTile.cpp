//===- AttentionMmaTile.cpp - attention's tile on tensor cores ------------===//
#include "codegen/gpu/nests/AttentionMmaTile.h"
#include "codegen/gpu/nests/Blocks.h"
#include "codegen/gpu/nests/ProductOperands.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

std::optional<MmaTileShape> transformer::simt::chooseMmaTile(const GpuTarget &target,
                                                             int64_t headDim, bool hasOptions) {
  MmaTileShape shape{target.attentionWarps, mmaRows, target.tensorAttentionKeys, headDim};
  auto isTooLarge = [&](const MmaTileShape &tile) {
    return tile.vectorBytes(tile.rows() + 2 * tile.columns) > target.sharedMemoryBytes;
  };
  if (shape.depth() > target.tensorAttentionHeadDim || isTooLarge(shape))
    return std::nullopt;
  if (shape.numSums() > target.tensorAttentionSums)
    shape.columns /= 2; // whose scores are in registers as well
  // Twice the rows for each key that is loaded, where a thread has registers for them.
  MmaTileShape larger = shape;
  larger.rowsOfWarp = 2 * mmaRows;
  bool fits = !hasOptions && larger.numSums() <= target.tensorAttentionSums && !isTooLarge(larger);
  return fits ? larger : shape;
}

Value transformer::simt::exp2(Loops &b, Value x) {
  return LLVM::InlineAsmOp::create(b, b.getF32Type(), ValueRange{x}, "ex2.approx.ftz.f32 $0, $1;",
                                   "=f,f", /*has_side_effects=*/false, /*is_align_stack=*/false,
                                   LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(),
                                   ArrayAttr())
      .getResult(0);
}

AttentionMmaTile::AttentionMmaTile(Loops &b, MmaTileShape shape, FloatType type, Value thread)
    : b(b), shape(shape), type(type), thread(thread), lane(b.rem(thread, warpSize)),
      firstRow(b.mul(b.div(thread, warpSize), shape.rowsOfWarp)), pair(b.mul(b.rem(lane, 4), 2)) {}

Value AttentionMmaTile::row(int64_t i) const {
  return b.add(b.add(firstRow, b.div(lane, 4)), i * matrix);
}

Value AttentionMmaTile::column() const { return pair; }

std::pair<int64_t, int64_t> AttentionMmaTile::placeOf(int64_t number, int64_t columns) {
  int64_t ofRows = columns / mmaColumns * sumsOfMma; // two of the thread's
  int64_t inRows = number % ofRows, e = inRows % sumsOfMma;
  return {number / ofRows * 2 + e / 2, inRows / sumsOfMma * mmaColumns + e % 2};
}

Value AttentionMmaTile::vectors(int64_t count) const {
  Value buffer = sharedMemory(b, {count, shape.stride()}, type);
  int64_t behind = shape.depth() - shape.headDim;
  if (behind) {
    Value zero = arith::ConstantOp::create(b, b.getFloatAttr(type, 0));
    int64_t zeros = count * behind, steps = llvm::divideCeil(zeros, shape.threads());
    b.forEach(b.index(0), hidden(b, b.index(steps)), [&](Value step) {
      Value i = b.add(b.mul(step, shape.threads()), thread);
      b.ifThen(b.less(i, b.index(zeros)), [&] {
        b.store(zero, buffer, {b.div(i, behind), b.add(b.rem(i, behind), shape.headDim)});
      });
    });
  }
  return buffer;
}

void AttentionMmaTile::copy(Value to, Value first, int64_t count, Value buffer, bool often,
                            function_ref<Vector(Value)> from) const {
  int64_t width = alignedNumbers(buffer, /*most=*/8);
  while (shape.headDim % width)
    width /= 2;
  int64_t parts = shape.headDim / width, all = count * parts;
  int64_t steps = llvm::divideCeil(all, shape.threads());
  auto copyStep = [&](Value step) {
    Value part = b.add(b.mul(step, shape.threads()), thread);
    auto copyPart = [&] {
      // Where a step is whole vectors, it is so many rows further at the same column.
      bool isWhole = shape.threads() % parts == 0;
      Value i = isWhole ? b.add(b.div(thread, parts), b.mul(step, shape.threads() / parts))
                        : b.div(part, parts);
      Value column = b.mul(b.rem(isWhole ? thread : part, parts), width);
      Vector vector = from(i);
      Values at = vector.row.at, place = {b.add(first, i), column};
      at.push_back(b.add(vector.column, column));
      if (width > 1)
        copyAsyncIf(b, Value(), buffer, at, to, place, width);
      else
        b.store(b.load(buffer, at), to, place);
    };
    if (all % shape.threads())
      b.ifThen(b.less(part, b.index(all)), copyPart);
    else
      copyPart();
  };
  // Few steps share what they compute of places. What many would keep of them needs more registers
  // than there are: theirs is a loop of unknown length.
  constexpr int64_t few = 8;
  if (steps > few || !often)
    return b.forEach(b.index(0), hidden(b, b.index(steps)), copyStep);
  for (int64_t step = 0; step < steps; ++step)
    copyStep(b.index(step));
}

void AttentionMmaTile::copyColumns(Value to, Value first, Value number, Value count, Value buffer,
                                   function_ref<Vector(Value)> from) const {
  Value begin = b.mul(number, shape.columns), last = b.sub(count, b.index(1));
  auto copyTile = [&](bool isWhole) {
    copy(to, first, shape.columns, buffer, /*often=*/isWhole, [&](Value i) {
      Value at = b.add(begin, i);
      return from(isWhole ? at : b.min(at, last)); // of a whole tile, places are no more than a sum
    });
    return Values();
  };
  b.ifElse(
      b.less(b.add(begin, shape.columns - 1), count), [&] { return copyTile(/*isWhole=*/true); },
      [&] { return copyTile(/*isWhole=*/false); });
}

/// 16 rows of the warp's from `row` on, and 16 of their numbers.
Values AttentionMmaTile::loadRows(Value rows, int64_t row, int64_t depth) const {
  Value number = b.div(lane, matrix), line = b.rem(lane, matrix);
  Value down = b.mul(b.rem(number, 2), matrix), along = b.mul(b.div(number, 2), matrix);
  Value place = b.add(b.add(b.add(firstRow, line), down), row);
  return loadMatrices(b, rows, Values{place, b.add(along, depth)}, /*transpose=*/false);
}

Values AttentionMmaTile::loadRows(Value rows) const {
  constexpr int64_t most = 32;
  Values loaded;
  if (shape.rowsOfWarp == mmaRows && shape.depth() * mmaRows / warpSize / 2 <= most)
    for (int64_t depth = 0; depth < shape.depth(); depth += mmaDepth)
      for (int64_t row = 0; row < shape.rowsOfWarp; row += mmaRows)
        loaded.append(loadRows(rows, row, depth));
  return loaded;
}

/// 16 columns from `column` on, by each 16 rows, whose sums are one behind the other.
static void addProducts(Loops &b, FloatType type, ArrayRef<Values> rows, ArrayRef<Value> columns,
                        MutableArrayRef<Value> sums, int64_t column) {
  int64_t ofRows = sums.size() / rows.size(), first = column / mmaColumns * sumsOfMma;
  for (const Values &x : rows) {
    MutableArrayRef<Value> to = sums.slice(first, 2 * sumsOfMma);
    multiply(b, type, x, columns.take_front(2), to.take_front(sumsOfMma));
    multiply(b, type, x, columns.drop_front(2), to.drop_front(sumsOfMma));
    first += ofRows;
  }
}

Values AttentionMmaTile::products(Value left, ValueRange loaded, Value right, Value first) const {
  Values sums(shape.numProducts(), b.scalar(0));
  Value number = b.div(lane, matrix), line = b.rem(lane, matrix);
  Value along = b.mul(b.rem(number, 2), matrix), down = b.mul(b.div(number, 2), matrix);
  Value ofLane = b.add(first, b.add(down, line));
  for (int64_t depth = 0; depth < shape.depth(); depth += mmaDepth) {
    SmallVector<Values> rows;
    for (int64_t row = 0; row < shape.rowsOfWarp; row += mmaRows) {
      int64_t at = (depth / mmaDepth * (shape.rowsOfWarp / mmaRows) + row / mmaRows) * 4;
      rows.push_back(loaded.empty() ? loadRows(left, row, depth) : Values(loaded.slice(at, 4)));
    }
    for (int64_t column = 0; column < shape.columns; column += 2 * mmaColumns) {
      Values place = {b.add(ofLane, column), b.add(along, depth)};
      Values two = loadMatrices(b, right, place, /*transpose=*/false);
      addProducts(b, type, rows, two, sums, column);
    }
  }
  return sums;
}

Values AttentionMmaTile::addWeighted(ValueRange sums, ValueRange weights, Value right,
                                     Value first) const {
  int64_t weightsOfRows = shape.columns / mmaColumns * sumsOfMma;
  Values next(sums);
  Value number = b.div(lane, matrix), line = b.rem(lane, matrix);
  Value down = b.mul(b.rem(number, 2), matrix), along = b.mul(b.div(number, 2), matrix);
  Value ofLane = b.add(first, b.add(down, line));
  for (int64_t vector = 0; vector < shape.columns; vector += mmaDepth) {
    // Sums of two products, 16 rows and 8 columns each, lie as the rows of the next one.
    SmallVector<Values> rows;
    for (int64_t begin = 0; begin < shape.numProducts(); begin += weightsOfRows) {
      Values &registers = rows.emplace_back();
      for (int64_t e = 0; e < 2 * sumsOfMma; e += 2) {
        int64_t at = begin + vector / mmaColumns * sumsOfMma + e;
        registers.push_back(packHalves(b, type, weights[at], weights[at + 1]));
      }
    }
    for (int64_t column = 0; column < shape.depth(); column += 2 * mmaColumns) {
      Values place = {b.add(ofLane, vector), b.add(along, column)};
      Values two = loadMatrices(b, right, place, /*transpose=*/true);
      addProducts(b, type, rows, two, next, column);
    }
  }
  return next;
}

void AttentionMmaTile::mask(Values &products, ArrayRef<ColumnRange> ranges, bool begins,
                            Value column, Value none) const {
  Value first = b.add(column, pair);
  auto behind = [&](Value place) -> Value { // how far from the thread's first
    return arith::IndexCastOp::create(b, b.getI32Type(), b.sub(place, first));
  };
  auto isSeen = [&](const Value &from, const Value &end, int64_t least, int64_t most) {
    auto word = [&](int64_t at) { return arith::ConstantIntOp::create(b, at, 32); };
    Value seen = b.less(word(most), end);
    if (begins)
      seen = b.both(seen, b.compare(arith::CmpIPredicate::sge, word(least), from));
    return seen;
  };
  Value all;
  for (const ColumnRange &range : ranges) {
    Value seen = isSeen(behind(range.from), behind(range.end), 0, shape.columns - mmaColumns + 1);
    all = all ? b.both(all, seen) : seen;
  }
  auto someAreSeen = [&] {
    Values some(products), froms, ends;
    for (const ColumnRange &range : ranges) { // hidden: LLVM would do all this in every tile
      froms.push_back(behind(hidden(b, range.from)));
      ends.push_back(behind(hidden(b, range.end)));
    }
    for (auto [n, value] : llvm::enumerate(some)) {
      auto [i, at] = placeOf(static_cast<int64_t>(n), shape.columns);
      value = b.select(isSeen(froms[i], ends[i], at, at), value, none);
    }
    return some;
  };
  products = b.ifElse(all, [&] { return products; }, someAreSeen);
}

Value AttentionMmaTile::overRow(Value value, function_ref<Value(Value, Value)> combine) const {
  return overLanes(b, value, /*lanes=*/4, combine);
}

void AttentionMmaTile::store(ValueRange sums, int64_t i, Value factor, const Vector &vector) const {
  Value buffer = vector.row.buffer;
  int64_t width = shape.headDim % 2 ? 1 : alignedNumbers(buffer, 2);
  FloatType half = halfType(buffer);
  auto put = [&](ValueRange values, int64_t column) {
    Values place = vector.row.at;
    place.push_back(b.add(b.add(vector.column, pair), column));
    if (values.size() > 1)
      return storeVector(b, values, buffer, place);
    b.store(values[0], buffer, place);
  };
  for (auto [n, sum] : llvm::enumerate(sums)) {
    auto [row, column] = placeOf(static_cast<int64_t>(n), shape.depth());
    if (row != i || (width == 2 && column % 2))
      continue;
    Values values = {b.mulf(sum, factor), width == 2 ? b.mulf(sums[n + 1], factor) : sum};
    if (half)
      values = toHalves(b, half, values[0], values[1]);
    values.truncate(width);
    if ((column / mmaColumns + 1) * mmaColumns <= shape.headDim)
      put(values, column);
    else
      b.ifThen(b.less(b.add(pair, column), b.index(shape.headDim)),
               [&, column = column] { put(values, column); });
  }
}
