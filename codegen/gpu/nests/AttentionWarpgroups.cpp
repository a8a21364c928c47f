//===- AttentionWarpgroups.cpp - attention by wgmma -----------------------===//
//
// Warpgroups have 64 rows of a block's tile each, whose weights go from the registers of the first
// product to those of the second; a warp of its own copies keys and values, as far ahead as there
// are stages of shared memory (FlashAttention-3, Shah et al. 2024).
//
//===----------------------------------------------------------------------===//
#include "codegen/gpu/nests/AttentionBlocks.h"
#include "codegen/gpu/nests/AttentionNest.h"
#include "codegen/gpu/nests/Blocks.h"
#include "codegen/gpu/nests/BulkCopies.h"
#include "codegen/gpu/nests/ProductOperands.h"
#include "codegen/gpu/nests/Warpgroups.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

namespace {

constexpr int64_t bytesOfNumber = 2, numbersOfPiece = 8;

/// Vectors of a head in shared memory as wgmma and the copies of boxes have them: blocks of 64 of
/// their numbers, a line of 128 bytes each, whose pieces of 16 bytes are in the order of the
/// swizzle.
struct VectorLines {
  static constexpr int64_t numbersOfLine = 64, bytesOfLine = numbersOfLine * bytesOfNumber,
                           piecesOfLine = numbersOfLine / numbersOfPiece;
  int64_t count, headDim;

  int64_t blocks() const { return llvm::divideCeil(headDim, numbersOfLine); }
  int64_t lines() const { return count * blocks(); }
  int64_t bytes() const { return lines() * bytesOfLine; }
  WarpgroupOperand operand(bool alongDepth) const {
    return {bytesOfLine, count * bytesOfLine, alongDepth};
  }
  /// How far behind the first one a number of a vector is.
  int64_t bytesBefore(int64_t number) const {
    return number / numbersOfLine * count * bytesOfLine + number % numbersOfLine * bytesOfNumber;
  }
  /// Of a vector and a piece of its numbers: the line, and the number in it.
  Values placeOf(Loops &b, Value vector, Value piece) const {
    Value line = b.add(vector, b.mul(b.div(piece, piecesOfLine), count));
    Value mixed = arith::XOrIOp::create(b, b.rem(piece, piecesOfLine), b.rem(vector, piecesOfLine));
    return {line, b.mul(mixed, numbersOfPiece)};
  }
};

/// A tile, and for how many tiles of keys, and of values, there is memory.
struct StreamShape {
  MmaTileShape tile;
  int64_t stages;

  VectorLines queries() const { return {tile.rows(), tile.headDim}; }
  VectorLines keys() const { return {tile.columns, tile.headDim}; }
  int64_t bytes() const { return queries().bytes() + 2 * stages * keys().bytes(); }
};

class WarpgroupAttention : public AttentionNest {
public:
  WarpgroupAttention(Loops &b, kernel::AttentionOp op, const StreamShape &stream)
      : AttentionNest(b, op, stream.tile), stages(stream.stages), linesOfQueries(stream.queries()),
        linesOfKeys(stream.keys()), type(halfType(q)), bytes(stream.bytes()) {}

  void emit() {
    forTiles(shape.threads() + b.target->producerThreads, [&](const Work &work, Value thread) {
      Value memory = sharedMemory(b, bytes, b.getI8Type());
      Mbarriers barriers(b, sharedMemory(b, numBarriers(), b.getI64Type()));
      Value place = sharedMemory(b, numbersOf(work).size(), b.getI64Type());
      b.ifThen(b.equal(thread, b.index(0)), [&] {
        initialise(barriers);
        keep(work, place);
      });
      barrier(b);
      auto [from, end] = tilesOfKeys(work);
      Block block{memory, place, barriers, warpgroupOf(b, thread), b.rem(thread, warpSize),
                  from,   end};
      b.ifElse(
          b.less(block.warpgroup, b.index(warpgroups())),
          [&] {
            takeRegisters(b, b.target->attentionConsumerRegisters, /*isMore=*/true);
            consume(block, work, thread);
            return Values();
          },
          [&] {
            takeRegisters(b, b.target->attentionProducerRegisters, /*isMore=*/false);
            b.ifThen(b.equal(b.div(thread, warpSize), b.index(shape.warps)),
                     [&] { produce(block, work); });
            return Values();
          });
    });
  }

private:
  struct Block {
    Value memory, place;
    const Mbarriers &barriers;
    Value warpgroup, lane, from, end; // tiles of keys
  };
  /// A place for a tile of keys or values, and how often it was filled before.
  struct Stage {
    Value number, before;
  };

  int64_t warpgroups() const { return shape.threads() / warpgroupSize; }

  /// Barriers: a stage of keys or of values is filled, and may be filled again; the values of a
  /// sequence's last tile have come; a warpgroup's queries are there; it is its turn.
  Value full(bool ofValues, Value stage) { return b.add(stage, ofValues * 2 * stages); }
  Value empty(bool ofValues, Value stage) { return b.add(full(ofValues, stage), stages); }
  int64_t atEdge() const { return 4 * stages; }
  int64_t queriesThere() const { return atEdge() + 1; }
  int64_t hasTurn() const { return queriesThere() + warpgroups(); }
  int64_t numBarriers() const { return hasTurn() + warpgroups(); }

  void initialise(const Mbarriers &barriers) {
    for (int64_t first : {int64_t(0), 2 * stages}) {
      barriers.initialise(first, stages, /*arrivals=*/1);
      barriers.initialise(first + stages, stages, /*arrivals=*/shape.warps);
    }
    barriers.initialise(atEdge(), 1, /*arrivals=*/1);
    barriers.initialise(queriesThere(), warpgroups(), /*arrivals=*/warpgroupSize);
    barriers.initialise(hasTurn(), warpgroups(), /*arrivals=*/warpgroupSize / warpSize);
    barriers.publish();
  }

  /// Where the block's rows are, in shared memory: who multiplies has no registers for what is
  /// asked for again only when all is done.
  static std::array<Value, 4> numbersOf(const Work &work) {
    return {work.place.first, work.place.firstRow, work.place.tokens, work.keys};
  }
  void keep(const Work &work, Value place) {
    for (auto [i, number] : llvm::enumerate(numbersOf(work)))
      b.store(arith::IndexCastOp::create(b, b.getI64Type(), number), place,
              b.index(static_cast<int64_t>(i)));
  }
  Work kept(Work work, Value place) {
    Values numbers;
    for (size_t i = 0; i < numbersOf(work).size(); ++i)
      numbers.push_back(b.loadIndex(place, b.index(static_cast<int64_t>(i))));
    work.place.first = numbers[0];
    work.place.firstRow = numbers[1];
    work.place.tokens = numbers[2];
    work.keys = numbers[3];
    return work;
  }

  /// Of shared memory, in bytes.
  Value start(const Block &block) {
    return memref::ExtractAlignedPointerAsIndexOp::create(b, block.memory);
  }
  int64_t firstByte(bool ofValues) const {
    return linesOfQueries.bytes() + ofValues * stages * linesOfKeys.bytes();
  }
  Value addressOf(const Block &block, bool ofValues, Value stage) {
    return b.add(b.add(start(block), firstByte(ofValues)), b.mul(stage, linesOfKeys.bytes()));
  }
  Stage stageOf(const Block &block, Value number) {
    Value step = b.sub(number, block.from);
    return {b.rem(step, stages), b.div(step, stages)};
  }

  // --- the warp that copies ---

  void produce(const Block &block, const Work &work) {
    Value ofKeys = tensorMap(b, k, shape.columns), ofValues = tensorMap(b, v, shape.columns);
    // Keys are needed a tile before values.
    b.ifThen(b.less(block.from, block.end), [&] { copyKeys(block, work, ofKeys, block.from); });
    b.forEach(block.from, block.end, [&](Value number) {
      Value next = b.add(number, 1);
      b.ifThen(b.less(next, block.end), [&] { copyKeys(block, work, ofKeys, next); });
      copyValues(block, work, ofValues, number);
    });
  }

  void copyKeys(const Block &block, const Work &work, Value map, Value number) {
    Stage stage = waitForPlace(block, /*ofValues=*/false, number);
    b.ifThen(isFirst(block), [&] {
      copy(block, work, map, /*ofValues=*/false, number, stage.number, full(false, stage.number));
    });
  }

  /// Behind a sequence's last value there are those of another, which nothing says to be finite:
  /// zeros take their place.
  void copyValues(const Block &block, const Work &work, Value map, Value number) {
    Stage stage = waitForPlace(block, /*ofValues=*/true, number);
    Value first = b.mul(number, shape.columns), there = full(true, stage.number);
    Value hasEdge = b.less(work.keys, b.add(first, shape.columns));
    b.ifThen(isFirst(block), [&] {
      copy(block, work, map, /*ofValues=*/true, number, stage.number,
           b.select(hasEdge, b.index(atEdge()), there));
    });
    b.ifThen(hasEdge, [&] {
      block.barriers.wait(b.index(atEdge()), b.index(0));
      clear(block, stage.number, b.sub(work.keys, first));
      publishToWarpgroups(b);
      warpBarrier(b);
      b.ifThen(isFirst(block), [&] { block.barriers.arrive(there); });
    });
  }

  Value isFirst(const Block &block) { return b.equal(block.lane, b.index(0)); }

  Stage waitForPlace(const Block &block, bool ofValues, Value number) {
    Stage stage = stageOf(block, number);
    block.barriers.wait(empty(ofValues, stage.number), b.rem(b.add(stage.before, 1), 2));
    return stage;
  }

  void copy(const Block &block, const Work &work, Value map, bool ofValues, Value number,
            Value stage, Value barrier) {
    block.barriers.arriveWithBytes(barrier, linesOfKeys.bytes());
    Value row = b.add(work.firstKey, b.mul(number, shape.columns));
    Value column = scores.column(work.kvHead), to = addressOf(block, ofValues, stage);
    for (int64_t i = 0; i < linesOfKeys.blocks(); ++i)
      copyBox(b, map, row, b.add(column, i * VectorLines::numbersOfLine),
              b.add(to, i * linesOfKeys.count * VectorLines::bytesOfLine), block.barriers[barrier]);
  }

  /// Values from the `first`-th of a stage on become zeros.
  void clear(const Block &block, Value stage, Value first) {
    Value lines = viewOf(b, block.memory, firstByte(/*ofValues=*/true),
                         {stages * linesOfKeys.lines(), VectorLines::numbersOfLine}, type);
    Value zero = arith::ConstantOp::create(b, b.getFloatAttr(type, 0));
    constexpr int64_t pieces = VectorLines::piecesOfLine, linesAtOnce = warpSize / pieces;
    Value line = b.div(block.lane, pieces), at = b.mul(b.rem(block.lane, pieces), numbersOfPiece);
    Value ofLane = b.add(first, line);
    for (int64_t i = 0; i < linesOfKeys.blocks(); ++i) {
      Value begin = b.add(b.mul(stage, linesOfKeys.lines()), i * linesOfKeys.count);
      auto loop = scf::ForOp::create(b, ofLane, b.index(shape.columns), b.index(linesAtOnce));
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(loop.getBody()->getTerminator());
      storeVector(b, Values(numbersOfPiece, zero), lines,
                  {b.add(begin, loop.getInductionVar()), at});
    }
  }

  // --- the warpgroups that multiply ---

  void consume(const Block &block, Work work, Value thread) {
    AttentionMmaTile tile(b, shape, type, thread);
    findRows(tile, work);
    copyQueries(block, work, thread);
    // Two ends: what is behind a branch that has sums and one that has none needs more registers.
    b.ifElse(
        b.less(block.from, block.end),
        [&] {
          Values done = attend(block, tile, work);
          store(tile, kept(work, block.place), done);
          return Values();
        },
        [&] {
          Values nothing = none();
          store(tile, work, nothing);
          return Values();
        });
  }

  /// While a tile's values are weighted, the next one's weights are made.
  Values attend(const Block &block, const AttentionMmaTile &tile, const Work &work) {
    Value rows = b.mul(block.warpgroup, wgmmaRows * VectorLines::bytesOfLine);
    Value queries = descriptorOf(b, linesOfQueries.operand(true), b.add(start(block), rows));
    Values state = none(), weights = multiplyKeys(block, queries, block.from);
    weights = waitForProducts(b, 0, weights);
    release(block, /*ofValues=*/false, block.from);
    makeWeights(tile, work, block.from, weights, state); // there are no sums to shrink yet
    size_t ofState = state.size();
    auto all = [&](Values state, ValueRange weights) {
      llvm::append_range(state, weights);
      return state;
    };
    Value one = b.index(1);
    state =
        b.loop(b.add(block.from, one), block.end, all(state, pack(weights)),
               [&](Value number, ValueRange before) {
                 Values next(before.take_front(ofState));
                 Value previous = b.sub(number, one);
                 waitForTurn(block, number);
                 Values weights = multiplyKeys(block, queries, number);
                 Values taken =
                     addValues(block, before.drop_front(ofState), previous, weighted(next));
                 endTurn(block);
                 weights = waitForProducts(b, 1, weights);
                 release(block, /*ofValues=*/false, number);
                 Values shrinks = makeWeights(tile, work, number, weights, next);
                 // Until then the registers of the weights before are taken.
                 size_t count = taken.size();
                 taken = waitForProducts(b, 0, all(taken, weights));
                 release(block, /*ofValues=*/true, previous);
                 llvm::copy(ArrayRef(taken).take_front(shape.numSums()), weighted(next).begin());
                 shrink(weighted(next), shrinks);
                 return all(next, pack(ArrayRef(taken).drop_front(count)));
               });
    Values last(ArrayRef(state).drop_front(ofState));
    state.truncate(ofState);
    Values sums = addValues(block, last, b.sub(block.end, one), weighted(state));
    sums = waitForProducts(b, 0, sums);
    llvm::copy(ArrayRef(sums).take_front(shape.numSums()), weighted(state).begin());
    return state;
  }

  void copyQueries(const Block &block, const Work &work, Value thread) {
    Value lines =
        viewOf(b, block.memory, 0, {linesOfQueries.lines(), VectorLines::numbersOfLine}, type);
    int64_t pieces = shape.headDim / numbersOfPiece, all = wgmmaRows * pieces;
    Value firstRow = b.mul(block.warpgroup, wgmmaRows), own = b.rem(thread, warpgroupSize);
    Value steps = hidden(b, b.index(all / warpgroupSize));
    b.forEach(b.index(0), steps, [&](Value step) {
      Value number = b.add(b.mul(step, warpgroupSize), own);
      Value vector = b.add(firstRow, b.div(number, pieces)), piece = b.rem(number, pieces);
      QueryRow row = rowOf(work, vector);
      Value column = b.add(scores.column(row.head), b.mul(piece, numbersOfPiece));
      copyAsyncIf(b, Value(), q, {row.query, column}, lines,
                  linesOfQueries.placeOf(b, vector, piece), numbersOfPiece);
    });
    waitForCopies(b);
    publishToWarpgroups(b);
    Value there = b.add(block.warpgroup, queriesThere());
    block.barriers.arrive(there);
    block.barriers.wait(there, b.index(0));
  }

  /// Begins to multiply the warpgroup's queries and a tile of keys, once that is there.
  Values multiplyKeys(const Block &block, Value queries, Value number) {
    WarpgroupOperand x = linesOfQueries.operand(true), y = linesOfKeys.operand(true);
    Value stage = waitForTile(block, /*ofValues=*/false, number);
    Value keys = descriptorOf(b, y, addressOf(block, /*ofValues=*/false, stage));
    beginProducts(b);
    Values sums;
    for (int64_t depth = 0; depth < shape.headDim; depth += wgmmaDepth) {
      Value atX = b.add(queries, b.integer(linesOfQueries.bytesBefore(depth) / 16));
      Value atY = b.add(keys, b.integer(linesOfKeys.bytesBefore(depth) / 16));
      sums = depth ? multiplyAsync(b, type, x, atX, y, atY, sums)
                   : multiplyAsync(b, type, x, atX, y, atY, shape.columns);
    }
    commitProducts(b);
    return sums;
  }

  /// Begins to add a tile of values, once it is there, by weights. Behind the sums it gives the
  /// weights: until the products are waited for, their registers are taken.
  Values addValues(const Block &block, ValueRange weights, Value number, ArrayRef<Value> sums) {
    WarpgroupOperand y = linesOfKeys.operand(/*alongDepth=*/false);
    Value stage = waitForTile(block, /*ofValues=*/true, number);
    Value values = descriptorOf(b, y, addressOf(block, /*ofValues=*/true, stage));
    Values registers(sums);
    llvm::append_range(registers, weights);
    registers = beginProducts(b, registers);
    Values next(ArrayRef(registers).take_front(sums.size()));
    ArrayRef<Value> x = ArrayRef(registers).drop_front(sums.size());
    for (int64_t key = 0; key < shape.columns; key += wgmmaDepth) {
      Value atY = b.add(values, b.integer(key * VectorLines::bytesOfLine / 16));
      next = multiplyAsync(b, type, x.slice(key / wgmmaDepth * 4, 4), y, atY, next);
    }
    commitProducts(b);
    llvm::append_range(next, x);
    return next;
  }

  /// Sums of two products, 64 rows and 8 columns each, lie as the rows of the next one.
  Values pack(ArrayRef<Value> weights) {
    Values registers;
    for (size_t i = 0; i < weights.size(); i += 2)
      registers.push_back(packHalves(b, type, weights[i], weights[i + 1]));
    return registers;
  }

  Value waitForTile(const Block &block, bool ofValues, Value number) {
    Stage stage = stageOf(block, number);
    block.barriers.wait(full(ofValues, stage.number), b.rem(stage.before, 2));
    return stage.number;
  }

  /// One warpgroup after the other begins the products of a tile but the first: while they are in
  /// work, the others make weights. With many sums there are few weights, and nothing to gain.
  bool takesTurns() const { return shape.headDim <= b.target->attentionTurnsHeadDim; }
  void waitForTurn(const Block &block, Value number) {
    if (!takesTurns())
      return;
    // The first warpgroup's first turn is nobody's end.
    Value isFirst = b.equal(block.warpgroup, b.index(0));
    Value turn = b.sub(b.sub(number, block.from), b.select(isFirst, b.index(0), b.index(1)));
    block.barriers.wait(b.add(block.warpgroup, hasTurn()), b.rem(turn, 2));
  }
  void endTurn(const Block &block) {
    if (!takesTurns())
      return;
    Value next = b.rem(b.add(block.warpgroup, 1), warpgroups());
    b.ifThen(isFirst(block), [&] { block.barriers.arrive(b.add(next, hasTurn())); });
  }

  /// A warp at a time: whether the others of its warpgroup are as far nothing says.
  void release(const Block &block, bool ofValues, Value number) {
    b.ifThen(isFirst(block),
             [&] { block.barriers.arrive(empty(ofValues, stageOf(block, number).number)); });
  }

  int64_t stages;
  VectorLines linesOfQueries, linesOfKeys;
  FloatType type;
  int64_t bytes;
};

/// Nothing where wgmma, or the copies of boxes, do not take what there is: all of it known when the
/// kernel is made, since mma.sync may round the same sums otherwise.
std::optional<StreamShape> shapeFor(kernel::AttentionOp op, const GpuTarget &target) {
  int64_t width = cast<ShapedType>(op.getQ().getType()).getDimSize(1);
  int64_t headDim = width / static_cast<int64_t>(op.getNumHeads());
  auto hasPieces = [](Value rows) {
    return alignedNumbers(rows, numbersOfPiece) == numbersOfPiece;
  };
  if (!target.attentionWarpgroups || headDim % wgmmaDepth ||
      headDim > target.tensorAttentionHeadDim || !hasPieces(op.getQ()) || !hasPieces(op.getK()) ||
      !hasPieces(op.getV()))
    return std::nullopt;
  constexpr int64_t warpsOfGroup = warpgroupSize / warpSize;
  StreamShape shape{
      {target.attentionWarpgroups * warpsOfGroup, mmaRows, target.warpgroupAttentionKeys, headDim},
      target.attentionStages};
  int64_t sums = shape.tile.numSums();
  bool hasOptions = op.getPositionBias() || op.getDropoutKey();
  if (hasOptions || sums > target.tensorAttentionSums)
    shape.tile.columns /= 2;
  if (hasOptions && sums > target.warpgroupAttentionSums)
    shape.tile.columns /= 2;
  constexpr int64_t bytesOfBarriers = 1024;
  while (shape.stages > 1 && shape.bytes() + bytesOfBarriers > target.sharedMemoryBytes)
    --shape.stages;
  return shape.stages > 1 ? std::optional(shape) : std::nullopt;
}

} // namespace

bool transformer::simt::emitAttentionWarpgroups(Loops &b, kernel::AttentionOp op) {
  std::optional<StreamShape> shape = shapeFor(op, *b.target);
  if (shape)
    WarpgroupAttention(b, op, *shape).emit();
  return shape.has_value();
}
