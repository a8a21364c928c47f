//===- ProductTensorCores.cpp - tiles by mma.sync -------------------------===//
#include "codegen/gpu/dialect/GpuDialect.h"
#include "codegen/gpu/nests/ProductBlocks.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

namespace {

class TensorCoreProduct : public TileProduct {
public:
  TensorCoreProduct(Loops &b, const ProductTile &tile, Value thread, const ProductTileOperand &left,
                    const ProductTileOperand &right)
      : b(b), tile(tile), left(left), right(right), type(left.type) {
    if (type.isF32())
      type = FloatTF32Type::get(b.getContext());
    int64_t across = tile.columns / tile.columnsOfPart;
    Value warp = b.div(thread, warpSize);
    lane = b.rem(thread, warpSize);
    rowOfWarp = b.mul(b.div(warp, across), tile.rowsOfPart);
    firstColumn = b.mul(b.rem(warp, across), tile.columnsOfPart);
  }

  int64_t numSums() const override {
    return tile.rowsOfPart / mmaRows * (tile.columnsOfPart / mmaColumns) * sumsOfMma;
  }

  Value firstRow() const override { return rowOfWarp; }

  Values add(ValueRange sums, Value stage) const override {
    Values next(sums);
    for (int64_t first = 0; first < tile.depth; first += isTf32() ? tf32Depth : mmaDepth) {
      SmallVector<Values> x, y;
      for (int64_t i = 0; i < tile.rowsOfPart; i += mmaRows)
        x.push_back(load(left, stage, b.add(rowOfWarp, i), first, /*byRows=*/true));
      for (int64_t i = 0; i < tile.columnsOfPart; i += 2 * mmaColumns) {
        Values two = load(right, stage, b.add(firstColumn, i), first, /*byRows=*/false);
        y.push_back(Values(ArrayRef(two).take_front(2)));
        y.push_back(Values(ArrayRef(two).drop_front(2)));
      }
      auto sum = next.begin();
      for (const Values &rows : x)
        for (const Values &columns : y) {
          multiply(b, type, rows, columns, MutableArrayRef(sum, sumsOfMma));
          sum += sumsOfMma;
        }
    }
    return next;
  }

  /// A thread has two neighbours of a row, and of the one 8 further down.
  void forEachPlace(function_ref<void(int64_t, Value, Value)> body) const override {
    Value row = b.add(rowOfWarp, b.div(lane, 4));
    Value column = b.add(firstColumn, b.mul(b.rem(lane, 4), 2));
    int64_t sum = 0;
    for (int64_t i = 0; i < tile.rowsOfPart; i += mmaRows)
      for (int64_t j = 0; j < tile.columnsOfPart; j += mmaColumns)
        for (int64_t e = 0; e < sumsOfMma; ++e)
          body(sum++, b.add(row, i + e / 2 * matrix), b.add(column, j + e % 2));
  }

private:
  bool isTf32() const { return type.isTF32(); }

  /// Four matrices as registers: 16 rows from `row` on and 16 of the depth. A's second one has the
  /// next rows, B's the next of the depth. A lane tells where a line of one is.
  Values load(const ProductTileOperand &operand, Value stage, Value row, int64_t first,
              bool byRows) const {
    if (isTf32())
      return loadTf32(operand, stage, row, first, byRows);
    Value number = b.div(lane, matrix), line = b.rem(lane, matrix);
    Value odd = b.mul(b.rem(number, 2), matrix), second = b.mul(b.div(number, 2), matrix);
    Value rows = b.add(row, byRows ? odd : second);
    Value depth = b.add(byRows ? second : odd, first);
    bool along = operand.isAlongDepth();
    (along ? rows : depth) = b.add(along ? rows : depth, line);
    return loadMatrices(b, operand.memory(), operand.placeOf(stage, rows, depth),
                        /*transpose=*/!along);
  }

  /// Likewise, of 8 by 4 numbers, of which a lane has one.
  Values loadTf32(const ProductTileOperand &operand, Value stage, Value row, int64_t first,
                  bool byRows) const {
    Value rows = b.add(row, b.div(lane, 4)), depth = b.add(b.rem(lane, 4), first);
    Values registers;
    for (int64_t i = 0; i < 4; ++i) {
      int64_t down = (byRows ? i % 2 : i / 2) * matrix, along = (byRows ? i / 2 : i % 2) * 4;
      Values place = operand.placeOf(stage, b.add(rows, down), b.add(depth, along));
      Value rounded = RoundTf32Op::create(b, b.load(operand.memory(), place));
      registers.push_back(arith::BitcastOp::create(b, b.getI32Type(), rounded));
    }
    return registers;
  }

  Loops &b;
  ProductTile tile;
  const ProductTileOperand &left, &right;
  FloatType type;
  Value lane, rowOfWarp, firstColumn;
};

} // namespace

std::unique_ptr<TileProduct> transformer::simt::tensorCoreProduct(Loops &b, const ProductTile &tile,
                                                                  Value thread,
                                                                  const ProductTileOperand &left,
                                                                  const ProductTileOperand &right) {
  return std::make_unique<TensorCoreProduct>(b, tile, thread, left, right);
}
