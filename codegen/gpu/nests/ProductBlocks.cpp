//===- ProductBlocks.cpp - matrix products by blocks of threads -----------===//
#include "codegen/gpu/nests/ProductBlocks.h"
#include "codegen/gpu/nests/Blocks.h"
#include "codegen/gpu/nests/Warpgroups.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

namespace {

/// f32, a part of the tile in each thread's registers.
class ThreadProduct : public TileProduct {
public:
  ThreadProduct(Loops &b, const ProductTile &tile, Value thread, const ProductTileOperand &left,
                const ProductTileOperand &right)
      : b(b), tile(tile), left(left), right(right) {
    int64_t across = tile.columns / tile.columnsOfPart;
    down = b.div(thread, across);
    along = b.rem(thread, across);
  }

  int64_t numSums() const override { return tile.rowsOfPart * tile.columnsOfPart; }

  Value firstRow() const override { return rowOf(left, down, tile.rowsOfPart, 0); }

  /// Four terms at a time are summed on their own: the error grows with the number of additions one
  /// after another.
  Values add(ValueRange sums, Value stage) const override {
    constexpr int64_t atOnce = 4; // numbers of the depth: a load of what lies along it
    return b.loop(b.index(0), b.index(tile.depth / atOnce), sums, [&](Value i, ValueRange before) {
      Value first = b.mul(i, atOnce);
      auto x = load(left, down, tile.rowsOfPart, stage, first, atOnce);
      auto y = load(right, along, tile.columnsOfPart, stage, first, atOnce);
      Values next(before);
      for (int64_t r = 0; r < tile.rowsOfPart; ++r)
        for (int64_t c = 0; c < tile.columnsOfPart; ++c) {
          Value four = b.mulf(x[0][r], y[0][c]);
          for (int64_t e = 1; e < atOnce; ++e)
            four = math::FmaOp::create(b, x[e][r], y[e][c], four);
          Value &sum = next[r * tile.columnsOfPart + c];
          sum = b.addf(sum, four);
        }
      return next;
    });
  }

  void forEachPlace(function_ref<void(int64_t, Value, Value)> body) const override {
    for (int64_t r = 0; r < tile.rowsOfPart; ++r)
      for (int64_t c = 0; c < tile.columnsOfPart; ++c)
        body(r * tile.columnsOfPart + c, rowOf(left, down, tile.rowsOfPart, r),
             rowOf(right, along, tile.columnsOfPart, c));
  }

private:
  /// Neighbouring rows are of neighbouring threads; what lies along the rows is loaded by vectors.
  static int64_t vectorOf(const ProductTileOperand &operand, int64_t ofPart) {
    return operand.isAlongDepth() ? 1 : std::min<int64_t>(ofPart, 4);
  }
  Value rowOf(const ProductTileOperand &operand, Value part, int64_t ofPart, int64_t i) const {
    int64_t vector = vectorOf(operand, ofPart), parts = operand.rows / ofPart;
    return b.add(b.mul(part, vector), i / vector * vector * parts + i % vector);
  }

  /// A part's rows, for each of `count` from `first` on.
  SmallVector<Values> load(const ProductTileOperand &operand, Value part, int64_t ofPart,
                           Value stage, Value first, int64_t count) const {
    SmallVector<Values> numbers(count, Values(ofPart));
    int64_t vector = vectorOf(operand, ofPart);
    auto loadAt = [&](int64_t i, int64_t e, int64_t size) {
      Values place = operand.placeOf(stage, rowOf(operand, part, ofPart, i), b.add(first, e));
      Values loaded = loadVector(b, operand.memory(), place, size);
      for (Value &each : loaded)
        if (kernel::isHalf(each.getType()))
          each = arith::ExtFOp::create(b, b.getF32Type(), each);
      return loaded;
    };
    for (int64_t i = 0; i < ofPart; i += vector) {
      if (operand.isAlongDepth()) {
        for (auto [e, value] : llvm::enumerate(loadAt(i, 0, count)))
          numbers[e][i] = value;
        continue;
      }
      for (int64_t e = 0; e < count; ++e)
        llvm::copy(loadAt(i, e, vector), numbers[e].begin() + i);
    }
    return numbers;
  }

  Loops &b;
  ProductTile tile;
  const ProductTileOperand &left, &right;
  Value down, along; // the part's place in the tile
};

class ProductKernel {
public:
  ProductKernel(Loops &b, const Product &product, const ProductTile &tile)
      : b(b), product(product), tile(tile), type(product.tensorType()),
        rows(sizeOf(b, product.result, 0)), columns(sizeOf(b, product.result, 1)),
        depth(depthOf(b, product)) {}

  void emit(Finish finish) {
    auto tiles = [&](Value count, int64_t size) { return b.div(b.add(count, size - 1), size); };
    int64_t threads = tile.threads(), multiplying = tile.parts() * tile.partThreads;
    Values sizes = {tiles(rows, tile.rows), tiles(columns, tile.columns)};
    blocks(b, sizes, threads, [&](ValueRange at, Value thread) {
      Value steps = hidden(b, tiles(depth, tile.depth));
      auto [row, column] = isLarge() ? tileInGroups(b, b.add(b.mul(at[0], sizes[1]), at[1]), sizes,
                                                    b.target->tensorProductGroup)
                                     : std::pair(at[0], at[1]);
      firstRow = b.mul(row, tile.rows);
      firstColumn = b.mul(column, tile.columns);
      if (tile.copyThreads && product.right.isInMemory() && hasStrides(product.right.buffer())) {
        fetchColumns(thread);
        waitForEarlierKernels(b);
      }
      ProductTileOperand left(b, product.left, tile, tile.rows, layout());
      ProductTileOperand right(b, product.right, tile, tile.columns, layout());
      // The sums take the place of what has been multiplied.
      int64_t bytes = left.bytes() + right.bytes();
      Value memory = sharedMemory(b, std::max(bytes, bytesOfSums()), b.getI8Type());
      left.place(memory, 0, {firstRow, rows, depth});
      right.place(memory, left.bytes(), {firstColumn, columns, depth});
      std::unique_ptr<TileProduct> threadsPart =
          !type              ? std::make_unique<ThreadProduct>(b, tile, thread, left, right)
          : isOfWarpgroups() ? warpgroupProduct(b, tile, thread, left, right)
                             : tensorCoreProduct(b, tile, thread, left, right);
      auto copy = [&](Value number) {
        b.ifThen(b.less(number, steps), [&] {
          Value stage = b.rem(number, tile.stages);
          auto copyBoth = [&](const BlockThread &by) {
            for (ProductTileOperand *operand : {&left, &right})
              operand->copy(stage, number, by);
          };
          if (multiplying == threads)
            return copyBoth({thread, threads});
          b.ifThen(b.less(b.index(multiplying - 1), thread),
                   [&] { copyBoth({b.sub(thread, b.index(multiplying)), threads - multiplying}); });
        });
        commitCopies(b); // an empty group, too: they are counted
      };
      int64_t ahead = tile.stages - threadsPart->stagesInUse();
      for (int64_t stage = 0; stage < ahead; ++stage)
        copy(b.index(stage));
      Values zeros(threadsPart->numSums(), b.scalar(0));
      // Of no depth at all these are what is waited for: ptxas takes no constants for wgmma's sums.
      if (isOfWarpgroups())
        zeros = beginProducts(b, zeros);
      Values sums = b.loop(b.index(0), steps, zeros, [&](Value step, ValueRange before) {
        waitForGroups(b, ahead - 1);
        threadsPart->publish();
        barrier(b); // all have what was copied, and have read what is copied over next
        copy(b.add(step, ahead));
        Value stage = b.rem(step, tile.stages);
        for (const ProductTileOperand *operand : {&left, &right})
          if (operand->isPacked())
            operand->unpack(stage, step, {thread, threads});
        if (left.isPacked() || right.isPacked())
          barrier(b);
        Value isThere;
        if (multiplying < threads)
          isThere = b.less(thread, b.index(multiplying));
        else if (!type && tile.rowsOfPart == 1) // of few rows most threads may have none
          isThere = b.less(b.add(firstRow, threadsPart->firstRow()), rows);
        if (!isThere)
          return threadsPart->add(before, stage);
        return b.ifElse(
            isThere, [&] { return threadsPart->add(before, stage); },
            [&] { return Values(before); });
      });
      sums = threadsPart->finish(sums);
      Value ofTile = viewOf(b, memory, 0, {tile.rows, lengthOfSums()}, b.getF32Type());
      barrier(b);
      auto storeSums = [&] {
        threadsPart->forEachPlace(
            [&](int64_t i, Value row, Value column) { b.store(sums[i], ofTile, {row, column}); });
      };
      multiplying < threads ? b.ifThen(b.less(thread, b.index(multiplying)), storeSums)
                            : storeSums();
      barrier(b);
      finishTile(ofTile, thread, threads, finish);
    });
  }

private:
  /// Static, and of memory whose start they count from.
  static bool hasStrides(Value buffer) {
    SmallVector<int64_t> strides;
    int64_t offset;
    return succeeded(cast<MemRefType>(buffer.getType()).getStridesAndOffset(strides, offset)) &&
           offset == 0 && !llvm::is_contained(strides, ShapedType::kDynamic);
  }

  /// All that the block will read of the columns goes to the second-level cache while the kernels
  /// before this one run: few rows are multiplied at the speed of the memory.
  void fetchColumns(Value thread) {
    constexpr int64_t bytesOfLine = 128;
    bool along = product.right.isAlongDepth();
    int64_t numbers = bytesOfLine / (type.getWidth() / 8);
    int64_t ofColumn = along ? tile.columns : 1;
    Value lines = along ? b.mul(b.div(b.add(depth, numbers - 1), numbers), ofColumn) : depth;
    auto loop = scf::ForOp::create(b, thread, lines, b.index(tile.threads()));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(loop.getBody()->getTerminator());
    Value line = loop.getInductionVar();
    Value column = b.add(firstColumn, b.rem(line, ofColumn));
    Value at = b.mul(b.div(line, ofColumn), along ? numbers : 1);
    b.ifThen(b.less(column, columns),
             [&] { prefetch(b, product.right.buffer(), product.right.placeOf(b, column, at)); });
  }

  bool isOfWarpgroups() const { return tile.partThreads == warpgroupSize; }
  TileLayout layout() const {
    if (!type)
      return TileLayout::Spaced;
    if (type.isTF32())
      return TileLayout::Lanes;
    return isOfWarpgroups() ? TileLayout::Blocks : TileLayout::Mixed;
  }

  /// Tiles of tensor cores need more of memory than there is, unless much is in the second-level
  /// cache; those of few rows are in a column.
  bool isLarge() const {
    return type && tile.rows > b.target->tensorProductOfFew.rows && getConstantIntValue(columns);
  }

  /// Of a line: rows that are written at once begin in different banks.
  int64_t lengthOfSums() const { return tile.columns + 8; }
  int64_t bytesOfSums() const { return tile.rows * lengthOfSums() * int64_t(sizeof(float)); }

  /// Neighbouring threads have neighbours in memory, and what is made of a sum stands once.
  void finishTile(Value sums, Value thread, int64_t threads, Finish finish) {
    int64_t width = alignedNumbers(product.result, /*most=*/4);
    int64_t count = tile.rows * tile.columns / width, inARow = tile.columns / width;
    finishPlaces(b, thread, threads, count, finish, [&](Value place) {
      Value row = b.div(place, inARow), column = b.mul(b.rem(place, inARow), width);
      Values at = {b.add(firstRow, row), b.add(firstColumn, column)};
      Value isThere = b.both(b.less(at[0], rows), b.less(at[1], columns));
      return SumsAt{loadVector(b, sums, {row, column}, width), at, isThere};
    });
  }

  Loops &b;
  const Product &product;
  const ProductTile &tile;
  FloatType type; // of tensor cores, or null
  Value rows, columns, depth, firstRow, firstColumn;
};

} // namespace

void transformer::simt::finishPlaces(Loops &b, Value thread, int64_t threads, int64_t count,
                                     Finish finish, function_ref<SumsAt(Value)> placeOf,
                                     int64_t atOnce) {
  while (atOnce > 1 && count % (threads * atOnce))
    atOnce /= 2;
  auto loop = scf::ForOp::create(b, thread, hidden(b, b.index(count)), b.index(threads * atOnce));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop.getBody()->getTerminator());
  SmallVector<SumsAt> places;
  for (int64_t i = 0; i < atOnce; ++i)
    places.push_back(placeOf(b.add(loop.getInductionVar(), i * threads)));
  finish(places);
}

Value transformer::simt::depthOf(Loops &b, const Product &product) {
  Value depth = product.left.sizeOf(b, product.depth);
  return depth ? depth : product.right.sizeOf(b, product.depth);
}

std::pair<Value, Value> transformer::simt::tileInGroups(Loops &b, Value number, ValueRange counts,
                                                        int64_t size) {
  Value ofGroup = b.mul(counts[1], size), first = b.mul(b.div(number, ofGroup), size);
  // Of 32 bits: a division of 64 by what is not known is a subroutine.
  auto word = [&](Value x) -> Value { return arith::IndexCastOp::create(b, b.getI32Type(), x); };
  auto index = [&](Value x) -> Value { return arith::IndexCastOp::create(b, b.getIndexType(), x); };
  Value inGroup = word(b.rem(number, ofGroup));
  Value rowsOfGroup = word(b.min(b.sub(counts[0], first), b.index(size)));
  return {b.add(first, index(b.rem(inGroup, rowsOfGroup))), index(b.div(inGroup, rowsOfGroup))};
}

/// Whether tiles of fewer columns are done earlier.
static bool isOfNarrowTiles(const GpuTarget &target, const Product &product) {
  const ProductTile &narrow = target.narrowTensorProduct;
  auto type = cast<MemRefType>(product.result.getType());
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  if (!narrow.columns || ShapedType::isDynamic(columns) || columns % narrow.columns ||
      columns > target.mostNarrowColumns)
    return false;
  auto columnsInTurn = [&](const ProductTile &tile) {
    int64_t tiles = llvm::divideCeil(rows, tile.rows) * llvm::divideCeil(columns, tile.columns);
    return llvm::divideCeil(tiles, target.multiprocessors) * tile.columns;
  };
  return ShapedType::isDynamic(rows) || columnsInTurn(narrow) < columnsInTurn(target.tensorProduct);
}

void transformer::simt::emitProductBlocks(Loops &b, const Product &product, Finish finish) {
  const GpuTarget &target = *b.target;
  FloatType type = product.tensorType();
  bool packed = product.left.isPacked() || product.right.isPacked();
  bool isTf32 = type && type.isTF32();
  const ProductTile &many = isTf32                                     ? target.tf32Product
                            : type && isOfNarrowTiles(target, product) ? target.narrowTensorProduct
                            : type                                     ? target.tensorProduct
                                                                       : target.product;
  int64_t columns = cast<MemRefType>(product.result.getType()).getDimSize(1);
  bool isWide = target.wideTensorProductOfFew.columns && !ShapedType::isDynamic(columns) &&
                columns >= target.leastWideColumns;
  const ProductTile &few = isTf32           ? target.tf32ProductOfFew
                           : type && isWide ? target.wideTensorProductOfFew
                           : type           ? target.tensorProductOfFew
                           : packed         ? target.packedProductOfFew
                                            : target.productOfFew;
  auto emit = [&](const ProductTile &tile) {
    if (&tile == &many && isStreamed(b, product))
      return emitProductStream(b, product, tile, finish);
    ProductKernel(b, product, tile).emit(finish);
  };
  int64_t rows = cast<MemRefType>(product.result.getType()).getDimSize(0);
  if (!ShapedType::isDynamic(rows))
    return emit(rows <= few.rows ? few : many);
  Value count = b.dim(product.result, 0), isMany = b.less(b.index(few.rows), count);
  b.ifThen(isMany, [&] { emit(many); });
  b.ifThen(b.less(count, b.index(few.rows + 1)), [&] { emit(few); });
}
