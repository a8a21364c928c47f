//===- ProductStream.cpp - tiles by warps that copy and others that multiply ===//
#include "codegen/gpu/dialect/GpuDialect.h"
#include "codegen/gpu/nests/Blocks.h"
#include "codegen/gpu/nests/BulkCopies.h"
#include "codegen/gpu/nests/ProductBlocks.h"
#include "codegen/gpu/nests/Warpgroups.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

namespace {

/// A block for each multiprocessor goes through tiles. Stages of shared memory are a ring that one
/// thread fills, tile after tile, as far ahead as there are stages, and that warpgroups multiply:
/// while they write the numbers of a tile, the operands of the next one arrive.
class StreamKernel {
public:
  StreamKernel(Loops &b, const Product &product, const ProductTile &tile, Finish finish)
      : b(b), product(product), tile(tile), finish(finish), rows(sizeOf(b, product.result, 0)),
        columns(sizeOf(b, product.result, 1)), depth(depthOf(b, product)) {}

  void emit() {
    tiles = {b.div(b.add(rows, tile.rows - 1), tile.rows),
             b.div(b.add(columns, tile.columns - 1), tile.columns)};
    Value count = b.mul(tiles[0], tiles[1]), one = b.index(1);
    blocksAtOnce = b.min(b.max(count, one), MultiprocessorsOp::create(b, one.getType()));
    Value ofAll = b.div(count, blocksAtOnce), more = b.rem(count, blocksAtOnce);
    blocks(b, blocksAtOnce, consumers() + b.target->producerThreads,
           [&](ValueRange at, Value thread) {
             turns = b.select(b.less(at[0], more), b.add(ofAll, one), ofAll);
             emitBlock(at[0], thread);
           });
  }

private:
  /// Barriers of a stage: it is filled, and it may be filled again.
  Value full(Value stage) { return stage; }
  Value empty(Value stage) { return b.add(stage, tile.stages); }

  int64_t consumers() const { return tile.parts() * warpgroupSize; }

  void emitBlock(Value block, Value thread) {
    steps = hidden(b, b.div(b.add(depth, tile.depth - 1), tile.depth));
    ProductTileOperand left(b, product.left, tile, tile.rows, TileLayout::Blocks);
    ProductTileOperand right(b, product.right, tile, tile.columns, TileLayout::Blocks);
    Value memory = sharedMemory(b, left.bytes() + right.bytes(), b.getI8Type());
    Value sums = sharedMemory(b, {tile.rows, columnsAtOnce}, b.getF32Type());
    Mbarriers barriers(b, sharedMemory(b, 2 * tile.stages, b.getI64Type()));
    left.place(memory, 0, {});
    right.place(memory, left.bytes(), {});
    b.ifThen(b.equal(thread, b.index(0)), [&] {
      barriers.initialise(0, tile.stages, /*arrivals=*/1);
      barriers.initialise(tile.stages, tile.stages, /*arrivals=*/consumers() / warpSize);
      barriers.publish();
    });
    barrier(b);
    Value isConsumer = b.less(warpgroupOf(b, thread), b.index(tile.parts()));
    b.ifElse(
        isConsumer,
        [&] {
          takeRegisters(b, b.target->consumerRegisters, /*isMore=*/true);
          consume(block, thread, left, right, barriers, sums);
          return Values();
        },
        [&] {
          takeRegisters(b, b.target->producerRegisters, /*isMore=*/false);
          b.ifThen(b.equal(thread, b.index(consumers())),
                   [&] { produce(block, left, right, barriers); });
          return Values();
        });
  }

  /// The `turn`-th tile of a block: its first row and column.
  std::pair<Value, Value> placeOf(Value block, Value turn) {
    auto [row, column] =
        tileInGroups(b, b.add(block, b.mul(turn, blocksAtOnce)), {tiles[0], tiles[1]});
    return {b.mul(row, tile.rows), b.mul(column, tile.columns)};
  }

  /// The stage of a step, and how often that was filled before.
  std::pair<Value, Value> stageOf(Value turn, Value step) {
    Value number = b.add(b.mul(turn, steps), step);
    return {b.rem(number, tile.stages), b.div(number, tile.stages)};
  }

  void produce(Value block, const ProductTileOperand &left, const ProductTileOperand &right,
               const Mbarriers &barriers) {
    Value ofLeft = left.boxes(), ofRight = right.boxes();
    b.forEach(b.index(0), turns, [&](Value turn) {
      auto [firstRow, firstColumn] = placeOf(block, turn);
      b.forEach(b.index(0), steps, [&, row = firstRow, column = firstColumn](Value step) {
        auto [stage, before] = stageOf(turn, step);
        barriers.wait(empty(stage), b.rem(b.add(before, 1), 2));
        barriers.arriveWithBytes(full(stage), left.bytesOfStage() + right.bytesOfStage());
        Value barrier = barriers[full(stage)], at = b.mul(step, tile.depth);
        left.copyBoxes(ofLeft, stage, row, at, barrier);
        right.copyBoxes(ofRight, stage, column, at, barrier);
      });
    });
  }

  void consume(Value block, Value thread, const ProductTileOperand &left,
               const ProductTileOperand &right, const Mbarriers &barriers, Value memory) {
    Value lane = b.rem(thread, warpSize), isFirst = b.equal(lane, b.index(0));
    std::unique_ptr<TileProduct> part = warpgroupProduct(b, tile, thread, left, right);
    // A warp at a time: whether the others of its warpgroup are as far nothing says.
    auto release = [&](Value turn, Value step, Value condition) {
      b.ifThen(b.both(isFirst, condition),
               [&] { barriers.arrive(empty(stageOf(turn, step).first)); });
    };
    Value zero = b.index(0), one = b.index(1);
    b.forEach(zero, turns, [&](Value turn) {
      Values zeros(part->numSums(), b.scalar(0));
      Values sums = b.loop(zero, steps, zeros, [&](Value step, ValueRange before) {
        auto [stage, filled] = stageOf(turn, step);
        barriers.wait(full(stage), b.rem(filled, 2));
        // The products of the step before are in the sums then.
        Values next = part->add(before, stage);
        release(turn, b.sub(step, one), b.less(zero, step));
        return next;
      });
      sums = part->finish(sums);
      release(turn, b.sub(steps, one), b.less(zero, steps));
      auto [firstRow, firstColumn] = placeOf(block, turn);
      finishTile(*part, sums, memory, thread, lane, firstRow, firstColumn);
    });
  }

  /// The rows of a warp, some columns at a time through memory of its own: neighbouring lanes
  /// finish neighbours in memory, what is made of a sum stands once, and nobody waits for other
  /// warps.
  void finishTile(const TileProduct &part, ValueRange sums, Value memory, Value thread, Value lane,
                  Value firstRow, Value firstColumn) {
    int64_t rounds = tile.columns / columnsAtOnce;
    Value left = b.sub(b.add(columns, columnsAtOnce - 1), firstColumn);
    Value there = b.min(b.div(left, columnsAtOnce), b.index(rounds));
    Value rowOfWarp = b.mul(b.div(thread, warpSize), rowsOfWarp);
    b.forEach(b.index(0), there, [&](Value round) {
      for (int64_t i = 0; i < rounds; ++i)
        b.ifThen(b.equal(round, b.index(i)), [&] { store(part, sums, i, memory); });
      warpBarrier(b);
      finishRound(memory, lane, rowOfWarp, b.add(firstRow, rowOfWarp),
                  b.add(firstColumn, b.mul(round, columnsAtOnce)));
      warpBarrier(b);
    });
  }

  void store(const TileProduct &part, ValueRange sums, int64_t round, Value memory) {
    int64_t first = round * columnsAtOnce, ofRound = part.numSums() * columnsAtOnce / tile.columns;
    part.forEachPlace([&](int64_t i, Value row, Value column) {
      if (i / ofRound == round && i % 2 == 0) // with its neighbour
        storeVector(b, sums.slice(i, 2), memory, {row, inLine(row, b.sub(column, b.index(first)))});
    });
  }

  void finishRound(Value memory, Value lane, Value rowOfWarp, Value firstRow, Value firstColumn) {
    int64_t width = alignedNumbers(product.result, /*most=*/4);
    int64_t inARow = columnsAtOnce / width;
    auto loop =
        scf::ForOp::create(b, lane, hidden(b, b.index(rowsOfWarp * inARow)), b.index(warpSize));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(loop.getBody()->getTerminator());
    Value place = loop.getInductionVar();
    Value row = b.div(place, inARow), column = b.mul(b.rem(place, inARow), width);
    Values at = {b.add(firstRow, row), b.add(firstColumn, column)};
    b.ifThen(b.both(b.less(at[0], rows), b.less(at[1], columns)), [&] {
      Value inMemory = b.add(rowOfWarp, row);
      finish(loadVector(b, memory, {inMemory, inLine(inMemory, column)}, width), at);
    });
  }

  /// Eights of a row change places with the row: those that are written at once, 8 rows of one, are
  /// in different banks.
  Value inLine(Value row, Value column) {
    return arith::XOrIOp::create(b, column, b.mul(b.rem(row, 8), 8));
  }

  static constexpr int64_t columnsAtOnce = 64, rowsOfWarp = wgmmaRows / 4;

  Loops &b;
  const Product &product;
  const ProductTile &tile;
  Finish finish;
  Value rows, columns, depth, blocksAtOnce, turns, steps;
  Values tiles; // how many down and along
};

} // namespace

bool transformer::simt::isStreamed(Loops &b, const Product &product) {
  return b.target->producerThreads && product.left.hasBoxes() && product.right.hasBoxes() &&
         !cast<MemRefType>(product.result.getType()).isDynamicDim(1);
}

void transformer::simt::emitProductStream(Loops &b, const Product &product, const ProductTile &tile,
                                          Finish finish) {
  StreamKernel(b, product, tile, finish).emit();
}
