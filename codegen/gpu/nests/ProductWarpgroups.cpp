//===- ProductWarpgroups.cpp - tiles of 16 bits by wgmma ------------------===//
#include "codegen/gpu/nests/ProductBlocks.h"
#include "codegen/gpu/nests/Warpgroups.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

namespace {

/// A warpgroup multiplies 64 rows of one operand and all of the other: the product of few rows is
/// that of the columns by the rows. A term, and the order of the sum, are the same.
class WarpgroupProduct : public TileProduct {
public:
  WarpgroupProduct(Loops &b, const ProductTile &tile, Value thread, const ProductTileOperand &left,
                   const ProductTileOperand &right)
      : b(b), depth(tile.depth), isTurned(tile.rowsOfPart < wgmmaRows), x(isTurned ? right : left),
        y(isTurned ? left : right), ofX(layoutOf(x)), ofY(layoutOf(y)), thread(thread) {
    warpgroup = warpgroupOf(b, thread);
    firstOfX = b.add(startOf(x), b.mul(warpgroup, bytesOfRows(x, wgmmaRows)));
    firstOfY = startOf(y);
  }

  int64_t numSums() const override { return wgmmaRows * y.rows / warpgroupSize; }

  Value firstRow() const override { return isTurned ? b.index(0) : b.mul(warpgroup, wgmmaRows); }

  int64_t stagesInUse() const override { return 2; }

  void publish() const override { publishToWarpgroups(b); }

  /// The products of the stage before this one are in the sums when those of this one have begun.
  Values add(ValueRange sums, Value stage) const override {
    Value xs = descriptorOf(b, ofX, b.add(firstOfX, b.mul(stage, x.bytesOfStage())));
    Value ys = descriptorOf(b, ofY, b.add(firstOfY, b.mul(stage, y.bytesOfStage())));
    beginProducts(b);
    Values next(sums);
    for (int64_t first = 0; first < depth; first += wgmmaDepth) {
      Value atX = b.add(xs, b.integer(bytesOfDepth(x, first) / 16));
      Value atY = b.add(ys, b.integer(bytesOfDepth(y, first) / 16));
      next = multiplyAsync(b, x.type, ofX, atX, ofY, atY, next);
    }
    commitProducts(b);
    return waitForProducts(b, 1, next);
  }

  Values finish(ValueRange sums) const override { return waitForProducts(b, 0, sums); }

  /// A thread has two neighbours of a row, and of the one 8 further down, of each 8 columns.
  void forEachPlace(function_ref<void(int64_t, Value, Value)> body) const override {
    Value warp = b.div(thread, warpSize), lane = b.rem(thread, warpSize);
    Value row = b.add(b.mul(warp, wgmmaRows / 4), b.div(lane, 4)),
          column = b.mul(b.rem(lane, 4), 2);
    for (int64_t i = 0; i < numSums(); ++i) {
      Value r = b.add(row, i / 2 % 2 * 8), c = b.add(column, i / 4 * 8 + i % 2);
      isTurned ? body(i, c, r) : body(i, r, c);
    }
  }

private:
  static WarpgroupOperand layoutOf(const ProductTileOperand &operand) {
    return {operand.bytesOfLine(), operand.bytesOfLine() * operand.lines(), operand.isAlongDepth()};
  }
  Value startOf(const ProductTileOperand &operand) const {
    return memref::ExtractAlignedPointerAsIndexOp::create(b, operand.memory());
  }
  /// How much further `rows` of an operand are, and `depth`.
  static int64_t bytesAlong(const ProductTileOperand &operand, int64_t numbers) {
    int64_t bytes = 2 * numbers, line = operand.bytesOfLine();
    return bytes / line * line * operand.lines() + bytes % line;
  }
  static int64_t bytesOfRows(const ProductTileOperand &operand, int64_t rows) {
    return operand.isAlongDepth() ? rows * operand.bytesOfLine() : bytesAlong(operand, rows);
  }
  static int64_t bytesOfDepth(const ProductTileOperand &operand, int64_t depth) {
    return operand.isAlongDepth() ? bytesAlong(operand, depth) : depth * operand.bytesOfLine();
  }

  Loops &b;
  int64_t depth;
  bool isTurned;
  const ProductTileOperand &x, &y;
  WarpgroupOperand ofX, ofY;
  Value thread, warpgroup, firstOfX, firstOfY;
};

} // namespace

std::unique_ptr<TileProduct> transformer::simt::warpgroupProduct(Loops &b, const ProductTile &tile,
                                                                 Value thread,
                                                                 const ProductTileOperand &left,
                                                                 const ProductTileOperand &right) {
  return std::make_unique<WarpgroupProduct>(b, tile, thread, left, right);
}
