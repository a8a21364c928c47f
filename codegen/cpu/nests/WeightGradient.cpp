//===- WeightGradient.cpp - a product over the tokens ---------------------===//
//
// First a becomes strips of the register tile's rows and b panels of its columns. Then a task owns
// some of either, and the tiles of c where they meet. Of a block of tokens a panel stays in the
// first-level cache and the strips in the second; sums wait beside them for the next block. Tokens
// are never divided between tasks, so a sum's order does not depend on the threads. In bfloat16 a
// step is two tokens, whose numbers share words, which matrix registers take by the sixteen,
// float32 in three parts; by Winograd's inner product it is six, and a block one of its sums.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/linear/Formats.h"
#include "codegen/cpu/linear/Winograd.h"
#include "codegen/cpu/nests/Bfloat16.h"
#include "codegen/cpu/nests/ColumnSums.h"
#include "codegen/cpu/nests/NestEmitters.h"
#include "codegen/cpu/nests/NestWork.h"
#include "codegen/cpu/nests/Rows.h"
#include "codegen/cpu/nests/WeightGradientMatrices.h"
#include "codegen/cpu/nests/WeightGradientPack.h"
#include "codegen/cpu/nests/WinogradNest.h"
#include "codegen/math/VectorMath.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

class WeightGradient {
public:
  WeightGradient(Emit &b, cpu::WeightGradientOp op)
      : b(b), x(op.getA()), dy(op.getB()), c(op.getOuts()[0]), strips(op.getOuts()[1]),
        panels(op.getOuts()[2]), rows(cast<MemRefType>(c.getType()).getDimSize(0)),
        columns(rowWidth(c)), isMatrices(op.getMatrices()),
        parts(isMatrices ? cast<MemRefType>(strips.getType()).getDimSize(2) : 1),
        height(cast<MemRefType>(strips.getType()).getDimSize(isMatrices ? 3 : 2)),
        width(rowWidth(panels)), vectors(width / b.lanes()), tokens(b.dim(x, 0)),
        steps(op.getWinograd() ? tokens : b.dim(panels, isMatrices ? 2 : 1)),
        element(cast<MemRefType>(strips.getType()).getElementType()), isWinograd(op.getWinograd()),
        scales(isWinograd ? op.getOuts()[3] : Value()),
        squares(op.getSquares() ? op.getOuts().take_back(2) : ValueRange()), onto(op.getOnto()),
        isStreamed(!onto && rowBytes(rows * columns) > b.target.getL2Bytes() &&
                   columns % b.lanes() == 0 &&
                   cast<MemRefType>(c.getType()).getLayout().isIdentity()),
        ownStrips(isMatrices && cpu::WeightGradientOp::makesStripsInTasks(rows, columns)) {}

  void emit() {
    pack();
    Work work = rowWork("weight_gradient", "tokens", rows + columns, 1);
    work.sizes = "M=" + std::to_string(rows) + " N=" + std::to_string(columns);
    work.amounts[0].flops = 2 * rows * columns;
    work.fixedBytes = rowBytes(rows * columns) * (onto ? 2 : 1);
    if (ownStrips)
      b.parallel(work, tokens, b.index(llvm::divideCeil(numStrips(), kStripsOfTask)),
                 [&](Value task) {
                   emitStripTask(taskRange(b, task, kStripsOfTask, b.index(numStrips())));
                 });
    else
      emitTasks(work);
    if (squares.empty())
      return;
    Value sum = arith::TruncFOp::create(b, b.getF32Type(), sumElements(b, squares[1]));
    b.store(sum, squares[0], {});
  }

private:
  using Range = std::pair<Value, Value>;
  static constexpr int64_t kPanelsOfTask = 2, kStripsOfTask = 4;

  int64_t numPanels() const { return llvm::divideCeil(columns, width); }

  void emitTasks(const Work &work) {
    int64_t numPanels = this->numPanels();
    int64_t parts = llvm::divideCeil(numStrips(), stripsOfPart());
    int64_t groups = llvm::divideCeil(numPanels, kPanelsOfTask);
    b.parallel(work, tokens, b.index(parts * groups), [&](Value task) {
      auto panels = taskRange(b, b.rem(task, b.index(groups)), kPanelsOfTask, b.index(numPanels));
      auto strips = taskRange(b, b.div(task, groups), stripsOfPart(), b.index(numStrips()));
      emitTask(strips, panels);
    });
  }

  void pack() {
    Work ofRows = rowWork("weight_gradient rows", "tokens", rows, 2);
    Work ofColumns = rowWork("weight_gradient columns", "tokens", columns, 2);
    if (isWinograd) {
      emitTokenScales(b, rowWork("weight_gradient tokens", "tokens", rows + columns, 1), x, dy,
                      scales);
      emitWinogradColumns(b, ofRows, x, scales, /*inverse=*/false, strips);
      emitWinogradColumns(b, ofColumns, dy, scales, /*inverse=*/true, panels);
      return;
    }
    int64_t together = isMatrices ? 2 : 8; // strips: neighbours of few rows share lines of x
    if (!ownStrips)
      b.parallel(ofRows, tokens, b.index(llvm::divideCeil(rows, height * together)),
                 [&](Value task) { packStrips(b.mul(task, together), together); });
    b.parallel(ofColumns, tokens, b.index(llvm::divideCeil(columns, width)), [&](Value panel) {
      forPanelKind(
          panel, [&](int64_t there) { packTokenPanel(b, dy, panels, panel, there, parts, steps); });
    });
  }

  /// Of a panel half of the first-level cache has as many, or as a sum may have.
  int64_t stepsOfBlock() const {
    if (isWinograd)
      return winograd::kBlock;
    int64_t least = isMatrices ? b.target.matrixRows() : 1;
    int64_t most = b.target.getL1Bytes() / 2 / rowBytes(width) / least * least;
    return std::max(most, least);
  }
  int64_t numStrips() const { return llvm::divideCeil(rows, height); }
  /// Tasks have as many each: of a block, and with the sums that wait, half of the second-level
  /// cache holds them.
  int64_t stripsOfPart() const {
    int64_t bytes = rowBytes(height) * (parts * stepsOfBlock() + kPanelsOfTask * width);
    int64_t most = std::max<int64_t>(b.target.getL2Bytes() / 2 / bytes, 1);
    return llvm::divideCeil(numStrips(), llvm::divideCeil(numStrips(), most));
  }

  struct Tile {
    Value strip, panel;
  };
  /// Of a block of steps; sums wait at `place` between blocks.
  struct Block {
    Value begin, end, place;
  };

  /// Blocks of at most `size` steps. No tokens are a block, too: of zeros.
  void forBlocks(int64_t size, function_ref<void(Value begin, Value end)> body) {
    b.forEach(b.index(0), b.max(steps, b.index(1)), size,
              [&](Value begin) { body(begin, b.min(b.add(begin, size), steps)); });
  }
  /// What a task does between the beginning and the end that all tasks have.
  void inTask(function_ref<void()> body) {
    if (isMatrices)
      cpu::ConfigureMatricesOp::create(b, b.stackBuffer({16}));
    body();
    if (isMatrices)
      cpu::ReleaseMatricesOp::create(b);
    if (isStreamed) // what others see of later stores says nothing of these
      LLVM::FenceOp::create(b, LLVM::AtomicOrdering::seq_cst, "");
  }

  /// Strips one after the other, each through all panels: as many steps in a block as leave a
  /// quarter of the second-level cache to the sums.
  void emitStripTask(Range strips) {
    int64_t least = b.target.matrixRows();
    int64_t bytes = numPanels() * parts * rowBytes(width);
    int64_t most = b.target.getL2Bytes() * 3 / 4 / bytes / least * least;
    int64_t size = std::clamp(most, least, stepsOfBlock());
    sumsBetweenBlocks = b.stackBuffer({numPanels(), height, width});
    Value own = b.stackBuffer({1, size / least, parts, height, least}, element);
    Value squares = matrixSquares(b, parts);
    inTask([&] {
      forStrips(strips, [&](Value strip, int64_t there) {
        forBlocks(size, [&](Value begin, Value end) {
          packMatrixStrip(b, {x, strip, there, begin, end, own, b.index(0), squares});
          emitMatrixTiles(begin, end, own, b.index(numPanels()), [&](Value panel) {
            return std::pair(Tile{strip, panel}, b.index(there));
          });
        });
      });
    });
  }

  void emitTask(Range strips, Range panels) {
    sumsBetweenBlocks = b.stackBuffer({kPanelsOfTask * stripsOfPart(), height, width});
    Value count = b.sub(strips.second, strips.first);
    Value tiles = b.mul(b.sub(panels.second, panels.first), count);
    auto tileAt = [&](Value i) {
      Value strip = b.add(strips.first, b.rem(i, count));
      Value there = b.min(b.sub(b.index(rows), b.mul(strip, height)), b.index(height));
      return std::pair(Tile{strip, b.add(panels.first, b.div(i, count))}, there);
    };
    inTask([&] {
      forBlocks(stepsOfBlock(), [&](Value begin, Value end) {
        if (isMatrices)
          return emitMatrixTiles(begin, end, /*own=*/{}, tiles, tileAt);
        b.forEach(panels.first, panels.second, 1, [&](Value panel) {
          forStrips(strips, [&](Value strip, int64_t there) {
            Value place =
                b.add(b.mul(b.sub(panel, panels.first), count), b.sub(strip, strips.first));
            emitTile({strip, panel}, there, {begin, end, place});
          });
        });
      });
    });
  }

  void packStrips(Value first, int64_t count) {
    if (!isMatrices)
      return packTokenStrips(b, x, rows, strips, first, count);
    forStrips({first, b.add(first, count)},
              [&, squares = matrixSquares(b, parts)](Value strip, int64_t there) {
                packMatrixStrip(b, {x, strip, there, b.index(0), steps, strips, strip, squares});
              });
  }
  void forStrips(Range range, function_ref<void(Value strip, int64_t there)> body) {
    forEachStrip(b, range, rows, height, body);
  }

  /// What `body` makes of how many columns of a panel are inside of b: all but in the last panel.
  Values byPanelKind(Value panel, TypeRange types, function_ref<Values(int64_t there)> body) {
    int64_t whole = columns / width, rest = columns % width;
    if (!rest || !whole)
      return body(rest ? rest : width);
    return b.ifElse(
        b.lt(panel, b.index(whole)), types, [&] { return body(width); },
        [&] { return body(rest); });
  }
  void forPanelKind(Value panel, function_ref<void(int64_t there)> body) {
    byPanelKind(panel, {}, [&](int64_t there) {
      body(there);
      return Values();
    });
  }

  /// `there` rows of it are.
  void emitTile(const Tile &tile, int64_t there, const Block &block) {
    Values sums = isWinograd ? winogradSums(tile, there, block) : plainSums(tile, there, block);
    b.ifElse(
        b.le(steps, block.end), {},
        [&] {
          Values whole = isWinograd ? withoutScales(tile, sums) : sums;
          forPanelKind(tile.panel, [&](int64_t columns) { storeTile(tile, whole, columns); });
          return Values();
        },
        [&] {
          forVectors(there, block, [&](int64_t i, ValueRange at) {
            b.storeVector(sums[i], sumsBetweenBlocks, at);
          });
          return Values();
        });
  }

  /// Tiles 0 to `count` - 1, at least one, each with how many of its rows are; the words of `own`
  /// begin at the block, if the task made them. The sums of a tile leave the registers at once, but
  /// go to c, which waits for memory, while the next ones are multiplied.
  void emitMatrixTiles(Value begin, Value end, Value own, Value count,
                       function_ref<std::pair<Tile, Value>(Value i)> tileAt) {
    Value zero = b.index(0), isLast = b.le(steps, end);
    Value isOnly = b.both(isLast, b.eq(begin, zero)); // then a place is free before the next tile
    auto placeOf = [&](Value i) { return b.select(isOnly, zero, i); };
    Values none(vectors, b.splat(0));
    b.forEach(zero, count, 1, [&](Value i) {
      Value before = b.sub(b.max(i, b.index(1)), b.index(1));
      auto [tile, there] = tileAt(i);
      auto [earlier, rows] = tileAt(before);
      rows = b.select(b.both(isLast, b.lt(zero, i)), rows, zero);
      Values ofLanes =
          addMatrixProducts(b,
                            {own ? own : strips, own ? zero : tile.strip, panels, tile.panel,
                             own ? zero : begin, begin, end, sumsBetweenBlocks, placeOf(i)},
                            none, [&](Value turn, Value turns, ValueRange ofLanes) {
                              Value share = b.ceilDiv(rows, turns),
                                    from = b.min(b.mul(turn, share), rows);
                              return storeRows(earlier, placeOf(before), from,
                                               b.min(b.add(from, share), rows), ofLanes);
                            });
      b.ifThen(b.lt(zero, rows), [&] { storeSquares(earlier, ofLanes); });
    });
    b.ifThen(isLast, [&] {
      Value last = b.sub(count, b.index(1));
      auto [tile, there] = tileAt(last);
      storeSquares(tile, storeRows(tile, placeOf(last), zero, there, none));
    });
  }
  Values storeRows(const Tile &tile, Value place, Value from, Value to, ValueRange ofLanes) {
    return byPanelKind(tile.panel, ofLanes.getTypes(), [&](int64_t columnsThere) {
      return b.loop(from, to, 1, ofLanes, [&](Value row, ValueRange before) {
        Values next(before);
        for (int64_t j = 0; j < vectors; ++j) {
          Value x = b.loadVector(sumsBetweenBlocks, {place, row, b.index(j * b.lanes())});
          storeSums(tile, x, row, j, columnsThere, next[j]);
        }
        return next;
      });
    });
  }

  /// Calls `body` with the place of each of a tile's vectors between blocks.
  void forVectors(int64_t there, const Block &block,
                  function_ref<void(int64_t i, ValueRange at)> body) {
    for (int64_t i = 0; i < there * vectors; ++i)
      body(i, {block.place, b.index(i / vectors), b.index(i % vectors * b.lanes())});
  }

  /// What `first` gives for vectors of the first block, else `later` of what waits.
  Values byBlock(int64_t there, const Block &block, function_ref<Value(int64_t i)> first,
                 function_ref<Value(int64_t i, Value before)> later) {
    SmallVector<Type> types(there * vectors, b.vectorType());
    return b.ifElse(
        b.eq(block.begin, b.index(0)), types,
        [&] {
          Values sums;
          for (int64_t i = 0; i < there * vectors; ++i)
            sums.push_back(first(i));
          return sums;
        },
        [&] {
          Values sums;
          forVectors(there, block, [&](int64_t i, ValueRange at) {
            sums.push_back(later(i, b.loadVector(sumsBetweenBlocks, at)));
          });
          return sums;
        });
  }

  /// The part of a tile that is inside of c, and the squares of it.
  void storeTile(const Tile &tile, ValueRange sums, int64_t columnsThere) {
    constexpr int64_t chains = 4; // of multiply-adds that do not wait for each other
    Values ofLanes(chains, b.splat(0));
    for (auto [i, x] : llvm::enumerate(sums))
      storeSums(tile, x, b.index(i / vectors), i % vectors, columnsThere, ofLanes[i % chains]);
    storeSquares(tile, ofLanes);
  }
  /// Vector j of a row; its squares are added to `ofLanes`.
  void storeSums(const Tile &tile, Value x, Value row, int64_t j, int64_t columnsThere,
                 Value &ofLanes) {
    int64_t lanes = lanesOfVector(b, columnsThere, j);
    if (!lanes)
      return;
    Values at = {b.add(b.mul(tile.strip, height), row),
                 b.add(b.mul(tile.panel, width), j * b.lanes())};
    if (onto)
      x = b.addf(x, b.loadVector(c, at, lanes));
    if (isStreamed)
      vector::StoreOp::create(b, x, c, at, /*nontemporal=*/true,
                              llvm::MaybeAlign(rowBytes(b.lanes())));
    else
      b.storeVector(x, c, at, lanes);
    if (squares.empty())
      return;
    Value next = emitFma(b, x, x, ofLanes); // behind the last column of c is anything
    ofLanes = lanes < b.lanes() ? b.select(b.lanesBelow(lanes), next, ofLanes) : next;
  }
  void storeSquares(const Tile &tile, ValueRange ofLanes) {
    if (!squares.empty())
      b.store(b.sumLanes(b.sumTree(ofLanes)), squares[1],
              b.add(b.mul(tile.panel, numStrips()), tile.strip));
  }

  Values plainSums(const Tile &tile, int64_t there, const Block &block) {
    Values sums = byBlock(
        there, block, [&](int64_t) { return b.splat(0); },
        [](int64_t, Value before) { return before; });
    return addBlock(tile, there, block, std::move(sums));
  }

  Values addBlock(const Tile &tile, int64_t there, const Block &block, Values sums) {
    VectorType type = b.vectorType().clone(element);
    return b.unrolledLoop(block.begin, block.end, std::move(sums), [&](Value step, Values &sums) {
      Values row;
      for (int64_t j = 0; j < vectors; ++j)
        row.push_back(vector::LoadOp::create(b, type, panels,
                                             ValueRange{tile.panel, step, b.index(j * b.lanes())}));
      for (int64_t i = 0; i < there; ++i) {
        Value factor = b.load(strips, {tile.strip, step, b.index(i)});
        factor = vector::BroadcastOp::create(b, type, factor);
        for (int64_t j = 0; j < vectors; ++j) {
          Value &sum = sums[i * vectors + j];
          sum = element.isInteger() ? emitDotBfloat16(b, row[j], factor, sum)
                                    : emitFma(b, factor, row[j], sum);
        }
      }
    });
  }

  Value ofStrip(const Tile &tile, Value row, int64_t i) {
    return b.broadcast(b.load(strips, {tile.strip, row, b.index(i)}));
  }
  Value ofPanel(const Tile &tile, Value row, int64_t j) {
    return b.loadVector(panels, {tile.panel, row, b.index(j * b.lanes())});
  }

  /// A block's sum and its corrections, added to those before.
  Values winogradSums(const Tile &tile, int64_t there, const Block &block) {
    Value corrections = b.add(b.mul(b.div(block.begin, winograd::kBlock), winograd::kRowsOfBlock),
                              winograd::kFirstBlock);
    Values sums;
    for (int64_t i = 0; i < there; ++i)
      for (int64_t j = 0; j < vectors; ++j)
        sums.push_back(b.addf(ofStrip(tile, corrections, i), ofPanel(tile, corrections, j)));
    Value steps = b.ceilDiv(b.sub(block.end, block.begin), winograd::kStep);
    sums = b.loop(b.index(0), steps, 1, sums, [&](Value step, ValueRange args) {
      Value first = b.add(b.add(corrections, b.mul(step, winograd::kStep)), 1);
      Values next(args);
      winogradFormat().addStep(
          b,
          {there,
           vectors,
           b.vectorType(),
           [&](int64_t i, int64_t place) { return ofStrip(tile, b.add(first, place), i); },
           [&](int64_t j, int64_t place) { return ofPanel(tile, b.add(first, place), j); },
           {}},
          next);
      return next;
    });
    return byBlock(
        there, block, [&](int64_t i) { return sums[i]; },
        [&](int64_t i, Value before) { return b.addf(before, sums[i]); });
  }
  /// Sums of numbers that are not scaled, which c is of.
  Values withoutScales(const Tile &tile, ValueRange sums) {
    Values whole;
    for (auto [i, sum] : llvm::enumerate(sums)) {
      Value scale =
          b.mulf(ofStrip(tile, b.index(0), i / vectors), ofPanel(tile, b.index(0), i % vectors));
      whole.push_back(b.mulf(sum, scale));
    }
    return whole;
  }

  Emit &b;
  Value x, dy, c, strips, panels;
  int64_t rows, columns;
  bool isMatrices;
  int64_t parts, height, width, vectors;
  Value tokens, steps; // of a sum
  Type element;        // of strips and panels
  bool isWinograd;
  Value scales;
  ValueRange squares;
  Value sumsBetweenBlocks; // of a task
  bool onto;
  /// Past the caches, which do not hold c until it is read, and would read it first.
  bool isStreamed;
  bool ownStrips;
};

} // namespace

void transformer::emitNest(Emit &b, cpu::WeightGradientOp op) { WeightGradient(b, op).emit(); }
