//===- ProductStream.cpp - tiles by warps that copy and others that multiply ===//
#include "codegen/gpu/dialect/GpuDialect.h"
#include "codegen/gpu/nests/Blocks.h"
#include "codegen/gpu/nests/BulkCopies.h"
#include "codegen/gpu/nests/ProductBlocks.h"
#include "codegen/gpu/nests/Warpgroups.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

namespace {

/// A block for each multiprocessor goes through tiles. Stages of shared memory are a ring that one
/// thread fills, tile after tile, as far ahead as there are stages, and that warpgroups multiply:
/// while they write the numbers of a tile, the operands of the next one arrive.
///
/// Two blocks are a cluster and have neighbouring tiles: of the operand that both multiply each
/// copies half, for both. So a stage is free when the consumers of both blocks have let it go, and
/// it is full when a block's own copies and the other one's half are there.
class StreamKernel {
public:
  StreamKernel(Loops &b, const Product &product, const ProductTile &tile, Finish finish)
      : b(b), product(product), tile(tile), finish(finish), rows(sizeOf(b, product.result, 0)),
        columns(sizeOf(b, product.result, 1)), depth(depthOf(b, product)) {}

  void emit() {
    Value one = b.index(1), count = pairUp(rows);
    Value room = b.div(MultiprocessorsOp::create(b, one.getType()), blocksOfCluster);
    clustersAtOnce = b.min(b.max(count, one), b.max(room, one));
    Value ofAll = b.div(count, clustersAtOnce), more = b.rem(count, clustersAtOnce);
    blocks(b, b.mul(clustersAtOnce, blocksOfCluster), consumers() + b.target->producerThreads,
           [&](ValueRange at, Value thread) {
             pairUp(hidden(b, rows)); // again: a kernel is passed no truth values
             cluster = b.div(at[0], blocksOfCluster);
             rank = b.rem(at[0], blocksOfCluster);
             turns = b.select(b.less(cluster, more), b.add(ofAll, one), ofAll);
             emitBlock(thread);
           });
  }

private:
  /// Barriers of a stage: it is filled, and it may be filled again.
  Value full(Value stage) { return stage; }
  Value empty(Value stage) { return b.add(stage, tile.stages); }

  int64_t consumers() const { return tile.parts() * warpgroupSize; }

  /// Which tiles of so many rows are a cluster's: how many pairs there are.
  Value pairUp(Value count) {
    Value down = b.div(b.add(count, tile.rows - 1), tile.rows);
    Value along = b.div(b.add(columns, tile.columns - 1), tile.columns);
    // Columns are more bytes than rows: they are shared, by tiles below each other, unless of few
    // the last one then has no partner.
    isDown = arith::OrIOp::create(b, b.less(b.index(fewTiles), down),
                                  b.equal(b.rem(down, 2), b.index(0)));
    pairsDown = {b.div(b.add(down, 1), 2), along};
    pairsAlong = {down, b.div(b.add(along, 1), 2)};
    return b.select(isDown, b.mul(pairsDown[0], along), b.mul(down, pairsAlong[1]));
  }

  void emitBlock(Value thread) {
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
      barriers.initialise(tile.stages, tile.stages, blocksOfCluster * consumers() / warpSize);
      barriers.publish();
    });
    clusterBarrier(b);
    Value isConsumer = b.less(warpgroupOf(b, thread), b.index(tile.parts()));
    b.ifElse(
        isConsumer,
        [&] {
          takeRegisters(b, b.target->consumerRegisters, /*isMore=*/true);
          consume(thread, left, right, barriers, sums);
          return Values();
        },
        [&] {
          takeRegisters(b, b.target->producerRegisters, /*isMore=*/false);
          b.ifThen(b.equal(thread, b.index(consumers())), [&] { produce(left, right, barriers); });
          return Values();
        });
    clusterBarrier(b); // the other block may still let go of what it got from this one
  }

  /// The `turn`-th tile of a block: its first row and column. Of an odd number of tiles the last
  /// one's partner is outside.
  std::pair<Value, Value> placeOf(Value turn) {
    Value number = b.add(cluster, b.mul(turn, clustersAtOnce));
    int64_t group = b.target->tensorProductGroup / blocksOfCluster;
    // Of both, whose divisions are by constants.
    auto [row, column] = tileInGroups(b, number, pairsDown, group);
    auto [rowAlong, columnAlong] = tileInGroups(b, number, pairsAlong, group);
    row = b.select(isDown, b.add(b.mul(row, 2), rank), rowAlong);
    column = b.select(isDown, column, b.add(b.mul(columnAlong, 2), rank));
    return {b.mul(row, tile.rows), b.mul(column, tile.columns)};
  }

  /// The stage of a step, and how often that was filled before.
  std::pair<Value, Value> stageOf(Value turn, Value step) {
    Value number = b.add(b.mul(turn, steps), step);
    return {b.rem(number, tile.stages), b.div(number, tile.stages)};
  }

  void produce(const ProductTileOperand &left, const ProductTileOperand &right,
               const Mbarriers &barriers) {
    Value ofLeft = left.boxes(), ofRight = right.boxes();
    b.forEach(b.index(0), turns, [&](Value turn) {
      auto [firstRow, firstColumn] = placeOf(turn);
      b.forEach(b.index(0), steps, [&, row = firstRow, column = firstColumn](Value step) {
        auto [stage, before] = stageOf(turn, step);
        barriers.wait(empty(stage), b.rem(b.add(before, 1), 2));
        barriers.arriveWithBytes(full(stage), left.bytesOfStage() + right.bytesOfStage());
        Value barrier = barriers[full(stage)], at = b.mul(step, tile.depth);
        b.ifElse(
            isDown,
            [&] {
              left.copyBoxes(ofLeft, stage, row, at, barrier);
              right.copyHalf(ofRight, rank, stage, column, at, barrier, /*isMulticast=*/true);
              return Values();
            },
            [&] {
              left.copyHalf(ofLeft, rank, stage, row, at, barrier, /*isMulticast=*/true);
              right.copyBoxes(ofRight, stage, column, at, barrier);
              return Values();
            });
      });
    });
  }

  void consume(Value thread, const ProductTileOperand &left, const ProductTileOperand &right,
               const Mbarriers &barriers, Value memory) {
    Value lane = b.rem(thread, warpSize), isFirst = b.equal(lane, b.index(0));
    std::unique_ptr<TileProduct> part = warpgroupProduct(b, tile, thread, left, right);
    // A warp at a time: whether the others of its warpgroup are as far nothing says.
    auto release = [&](Value turn, Value step, Value condition) {
      b.ifThen(b.both(isFirst, condition), [&] {
        for (int64_t block = 0; block < blocksOfCluster; ++block)
          barriers.arriveIn(block, empty(stageOf(turn, step).first));
      });
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
      auto [firstRow, firstColumn] = placeOf(turn);
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
    auto placeOf = [&](Value place) {
      Value row = b.div(place, inARow), column = b.mul(b.rem(place, inARow), width);
      Values at = {b.add(firstRow, row), b.add(firstColumn, column)};
      Value isThere = b.both(b.less(at[0], rows), b.less(at[1], columns));
      Value inMemory = b.add(rowOfWarp, row);
      return SumsAt{loadVector(b, memory, {inMemory, inLine(inMemory, column)}, width), at,
                    isThere};
    };
    // Each takes its sums, what they are joined with, and where that is.
    constexpr int64_t registersOfPlace = 16;
    int64_t sumsOfThread = wgmmaRows * tile.columns / warpgroupSize;
    int64_t atOnce = (b.target->consumerRegisters - sumsOfThread) / registersOfPlace;
    finishPlaces(b, lane, warpSize, rowsOfWarp * inARow, finish, placeOf,
                 static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(atOnce))));
  }

  /// Eights of a row change places with the row: those that are written at once, 8 rows of one, are
  /// in different banks.
  Value inLine(Value row, Value column) {
    return arith::XOrIOp::create(b, column, b.mul(b.rem(row, 8), 8));
  }

  static constexpr int64_t columnsAtOnce = 64, rowsOfWarp = wgmmaRows / 4, fewTiles = 8;

  Loops &b;
  const Product &product;
  const ProductTile &tile;
  Finish finish;
  Value rows, columns, depth, clustersAtOnce, cluster, rank, turns, steps;
  Value isDown; // whether the tiles of a pair are below each other, or beside each other
  Values pairsDown, pairsAlong; // how many down and along, if they are, and if not
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
