//===- PrefetchPanels.cpp - fetch weights ahead ---------------------------===//
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/linear/LinearTiles.h"
#include "codegen/cpu/linear/PrefetchWeights.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_PREFETCHPANELS
#include "codegen/cpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// A tile of fewer rows reads its own panel as fast as memory allows.
constexpr unsigned kFewestRows = 4;
/// As many row tiles at least share the work of fetching a panel, as long as each fetches a whole
/// line a step.
constexpr int64_t kFewestTiles = 2;
/// Shares of a panel are counted in units of 2^-kFraction.
constexpr int64_t kFraction = 20;

/// Of the register tile whose sums `loop` carries.
int64_t rowsOf(scf::ForOp loop) { return loop.getNumResults() / linearMark(loop).getPanels(); }

/// What `op` reads, if that is a panel: what else there is has fewer dimensions.
PanelRead panelRead(Operation *op, const LinearFormat &format) {
  PanelRead read{op, {}, {}};
  if (auto vectors = dyn_cast<vector::TransferReadOp>(op))
    read.panel = vectors.getBase(), read.indices = SmallVector<Value>(vectors.getIndices());
  else if (auto matrix = dyn_cast<cpu::LoadMatrixOp>(op))
    read.panel = matrix.getMemory(), read.indices = SmallVector<Value>(matrix.getIndices());
  auto type = read.panel ? dyn_cast<MemRefType>(read.panel.getType()) : MemRefType();
  int64_t rank = format.panelRows() == 1 && !format.usesMatrixRegisters() ? 3 : 4;
  return type && type.getRank() == rank ? read : PanelRead();
}

/// The first read of the panel in a loop over k.
PanelRead panelRead(scf::ForOp loop) {
  PanelRead found;
  loop.walk([&](Operation *op) {
    found = panelRead(op, formatOf(loop));
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

void fetchLine(OpBuilder &b, Location loc, Value memory, ValueRange at) {
  constexpr int64_t secondLevel = 2;
  memref::PrefetchOp::create(b, loc, memory, at, /*isWrite=*/false, secondLevel,
                             /*isDataCache=*/true);
}
void fetchLine(OpBuilder &b, const PanelRead &read, ValueRange at) {
  fetchLine(b, read.loc(), read.panel, at);
}

/// Tiles share what comes after this block of k: the panel's next block, or, behind its end, the
/// first block of the next panel. Each fetches as much of it as the others, evenly over its own k:
/// a line a step, or as many as make it up where tiles are few; where they are many, these are one
/// and the same line, rather than behind a branch in the loop.
void fetchShare(scf::ForOp loop, cpu::TargetAttr target) {
  scf::ForOp all = throughK(loop);
  auto rows = dyn_cast<scf::ForOp>(all->getParentOp());
  PanelRead read = panelRead(loop);
  auto step = getConstantIntValue(loop.getStep());
  if (!rows || !read || !step || rowsOf(loop) < kFewestRows)
    return;
  int64_t k = linearMark(loop).getSteps(), bytes = read.rowBytes(), line = target.getLineBytes();
  int64_t ofStep = *step * bytes / line, fewestTiles = std::min(kFewestTiles, ofStep);
  if (fewestTiles == 0)
    return;
  ImplicitLocOpBuilder b(loop.getLoc(), rows);
  auto constant = [&](int64_t v) -> Value { return arith::ConstantIndexOp::create(b, v); };
  Value tiles = arith::MaxUIOp::create(b, numTiles(b, rows), constant(fewestTiles));
  // Numbers for a k of a tile, in units of 2^-kFraction.
  int64_t columns = read.columns(), ofLine = line * columns / bytes;
  Value rate = arith::DivUIOp::create(b, constant(columns << kFraction), tiles);
  Value areFew = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, tiles, constant(ofStep));
  Value apart = arith::SelectOp::create(b, areFew, constant(ofLine), constant(0));

  b.setInsertionPoint(all);
  Value before = arith::MulIOp::create(b, numberOfTile(b, rows), constant(k));

  b.setInsertionPoint(read.op);
  Value done = doneOfK(b, loop);
  Value at = arith::MulIOp::create(b, arith::AddIOp::create(b, before, done), rate);
  at = arith::ShRUIOp::create(b, at, constant(kFraction));
  Value start = arith::SubIOp::create(b, read.indices[1], done);
  Value next = arith::AddIOp::create(b, start, constant(k));
  for (int64_t i = 0; i < ofStep / fewestTiles; ++i) {
    Value ahead = arith::MulIOp::create(b, apart, constant(i));
    fetchLine(b, read, {read.indices[0], next, arith::AddIOp::create(b, at, ahead)});
  }
}

/// A step of several products fetches as much as it reads, a short way ahead in
/// memory, where panels follow each other: tiles are tall, so there may be just
/// one a panel. What later tiles fetch is there already.
void fetchAhead(scf::ForOp loop, const PanelRead &read, cpu::TargetAttr target) {
  int64_t columns = read.columns(), rowBytes = read.rowBytes();
  int64_t rows = formatOf(loop).words() ? 1 : formatOf(loop).panelRows(); // that go with this read
  ImplicitLocOpBuilder b(loop.getLoc(), read.op);
  auto around = read.op->getParentOfType<scf::ForOp>();
  if (around != loop && !llvm::is_contained(read.indices, around.getInductionVar())) {
    moveLoopInvariantCode(around); // what indexes are made from
    b.setInsertionPoint(around);   // once a word, not once a weight of it
  }
  SmallVector<Value> at(read.indices);
  Value first = at[2];
  for (int64_t byte = 0; byte < rows * rowBytes; byte += target.getLineBytes()) {
    int64_t row = (target.getPrefetchBytes() + byte) / rowBytes,
            column = byte % rowBytes * columns / rowBytes;
    at[2] = arith::AddIOp::create(b, first, arith::ConstantIndexOp::create(b, row));
    at[3] = arith::ConstantIndexOp::create(b, column);
    fetchLine(b, read, at);
  }
}

/// Tiles of such steps that are less tall share what comes after this block of k: each fetches, in
/// a loop a step, as many lines as make it up with the other tiles, all of it where there is one
/// tile. All at once in front of some steps most would be dropped.
void fetchStepShare(scf::ForOp loop, const PanelRead &read, cpu::TargetAttr target) {
  scf::ForOp all = throughK(loop);
  auto rows = dyn_cast<scf::ForOp>(all->getParentOp());
  if (!rows)
    return;
  int64_t rowBytes = read.rowBytes(), columns = read.columns();
  int64_t line = target.getLineBytes() * columns / rowBytes; // elements of
  int64_t step = formatOf(loop).panelRows() * columns, panel = linearMark(loop).getSteps() * step;
  ImplicitLocOpBuilder b(loop.getLoc(), rows);
  auto constant = [&](int64_t v) -> Value { return arith::ConstantIndexOp::create(b, v); };
  Value tiles = numTiles(b, rows);
  Value lines = arith::CeilDivUIOp::create(b, constant(step / line), tiles);
  Value share = arith::MulIOp::create(b, lines, constant(line)); // elements a step
  Value ofTile = arith::MulIOp::create(b, share, constant(linearMark(loop).getSteps()));
  Value last = arith::SubIOp::create(b, constant(2 * panel), ofTile);
  b.setInsertionPoint(all);
  Value tile = numberOfTile(b, rows);
  Value first = arith::AddIOp::create(b, arith::MulIOp::create(b, tile, ofTile), constant(panel));
  first = arith::MinUIOp::create(b, first, last); // tiles may be more than shares
  b.setInsertionPoint(read.op);
  Value done = arith::SubIOp::create(b, loop.getInductionVar(), all.getLowerBound());
  Value from = arith::AddIOp::create(b, arith::MulIOp::create(b, done, share), first);
  SmallVector<Value> at(read.indices);
  at[1] = arith::SubIOp::create(b, at[1], done);
  at[2] = constant(0);
  scf::ForOp::create(b, constant(0), lines, constant(1), ValueRange{},
                     [&](OpBuilder &nested, Location loc, Value i, ValueRange) {
                       ImplicitLocOpBuilder body(loc, nested);
                       Value ahead = arith::MulIOp::create(body, i, constant(line));
                       at[3] = arith::AddIOp::create(body, from, ahead);
                       fetchLine(body, read, at);
                       scf::YieldOp::create(body);
                     });
}

/// Of matrix registers the tiles of a panel share the one behind it, evenly over their steps: lines
/// on their way occupy the buffers by which registers are filled.
void fetchBehind(scf::ForOp loop, const PanelRead &read, cpu::TargetAttr target) {
  int64_t line = target.getLineBytes() * read.columns() / read.rowBytes(), // elements
      lines = formatOf(loop).panelRows() * linearMark(loop).getSteps() * read.columns() / line;
  ImplicitLocOpBuilder b(loop.getLoc(), read.op);
  auto turn = linesOfTurn(b, loop, lines);
  if (!turn)
    return;
  auto [first, end] = *turn;
  auto constant = [&](int64_t v) -> Value { return arith::ConstantIndexOp::create(b, v); };
  SmallVector<Value> at(read.indices);
  at[0] = arith::AddIOp::create(b, at[0], constant(1));
  at[1] = at[2] = constant(0);
  scf::ForOp::create(b, first, end, constant(1), ValueRange{},
                     [&](OpBuilder &nested, Location loc, Value i, ValueRange) {
                       ImplicitLocOpBuilder body(loc, nested);
                       at[3] = arith::MulIOp::create(body, i, constant(line));
                       fetchLine(body, read, at);
                       scf::YieldOp::create(body);
                     });
}

/// Few rows go through several panels at once: of each is fetched what is read of it, as many
/// panels further on. Weights of a byte or less make streams so short that the hardware follows
/// them late; it follows longer ones, and fetching those here only costs.
void fetchNextPanels(scf::ForOp loop, cpu::TargetAttr target) {
  const LinearFormat &format = formatOf(loop);
  int64_t rows = format.words() ? 1 : *getConstantIntValue(loop.getStep()) * format.panelRows();
  llvm::MapVector<Value, PanelRead> first; // of each panel
  loop.walk([&](Operation *op) {
    if (PanelRead read = panelRead(op, format))
      first.insert({read.indices.front(), read});
  });
  for (const PanelRead &read : llvm::make_second_range(first)) {
    int64_t columns = read.columns(), bytes = read.rowBytes();
    ImplicitLocOpBuilder b(loop.getLoc(), read.op);
    SmallVector<Value> at(read.indices);
    Value panels = arith::ConstantIndexOp::create(b, linearMark(loop).getPanels());
    at[0] = arith::AddIOp::create(b, at[0], panels);
    for (int64_t byte = 0; byte < rows * bytes; byte += target.getLineBytes()) {
      at.back() = arith::ConstantIndexOp::create(b, byte * columns / bytes);
      fetchLine(b, read, at);
    }
  }
}

/// `value`, made again in front of the builder's place; null where it needs more than what is
/// there.
Value remake(ImplicitLocOpBuilder &b, Value value, IRMapping &map) {
  if (Value known = map.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp(), *place = &*b.getInsertionPoint();
  Block *block = value.getParentBlock();
  Operation *there = block->findAncestorOpInBlock(*place);
  if (there && (!op || op->isBeforeInBlock(there)))
    return value;
  if (!op || !isMemoryEffectFree(op) || op->getNumRegions())
    return {};
  for (Value operand : op->getOperands())
    if (!remake(b, operand, map))
      return {};
  b.clone(*op, map);
  return map.lookup(value);
}

/// What the epilogue reads of rows as wide as the result (a residual, what an activation's gradient
/// depends on) comes from other caches or from memory, a line a row: it is fetched while the tile
/// is multiplied.
void fetchForEpilogue(scf::ForOp loop) {
  scf::ForOp all = throughK(loop);
  auto rows = dyn_cast<scf::ForOp>(all->getParentOp());
  if (!rows || rowsOf(loop) < kFewestRows)
    return;
  ImplicitLocOpBuilder b(loop.getLoc(), all);
  auto fetch = [&](vector::TransferReadOp read, IRMapping map) {
    auto type = dyn_cast<MemRefType>(read.getBase().getType());
    if (!type || type.getRank() != 3 || !rows.isDefinedOutsideOfLoop(read.getBase()))
      return;
    SmallVector<Value> at;
    for (Value index : read.getIndices()) {
      at.push_back(remake(b, index, map));
      if (!at.back())
        return;
    }
    fetchLine(b, read.getLoc(), read.getBase(), at);
  };
  for (Operation *op = all->getNextNode(); op; op = op->getNextNode()) {
    if (auto read = dyn_cast<vector::TransferReadOp>(op)) {
      fetch(read, {});
      continue;
    }
    auto inLoop = dyn_cast<scf::ForOp>(op);
    std::optional<APInt> turns = inLoop ? inLoop.getStaticTripCount() : std::nullopt;
    if (!turns || turns->ugt(rowsOf(loop)))
      continue;
    for (auto read : inLoop.getBody()->getOps<vector::TransferReadOp>())
      for (uint64_t turn = 0; turn < turns->getZExtValue(); ++turn) {
        IRMapping map;
        map.map(inLoop.getInductionVar(), arith::ConstantIndexOp::create(b, turn).getResult());
        fetch(read, map);
      }
  }
}

void fetchPanels(scf::ForOp loop, cpu::TargetAttr target) {
  const LinearFormat &format = formatOf(loop);
  PanelRead read = panelRead(loop);
  if (!read)
    return;
  if (Operation *op = packOf(read)) {
    if (auto pack = dyn_cast<cpu::PackWeightOp>(op); pack && !pack.getAhead())
      fetchNextWeight(loop, read, pack, target);
    return;
  }
  bool isOfTask = read.all().getDefiningOp<memref::AllocOp>(); // made by the steps that read it
  if (format.usesMatrixRegisters())
    return isOfTask ? void() : fetchBehind(loop, read, target);
  int64_t k = linearMark(loop).getSteps() * format.products();
  int64_t bytesOfK = format.columnBytes(k) * read.columns() / k;
  if (linearMark(loop).getPanels() > 1 && bytesOfK < target.getLineBytes())
    return fetchNextPanels(loop, target);
  if (format.panelRows() == 1)
    return fetchShare(loop, target);
  if (rowsOf(loop) < kFewestRows)
    return;
  bool isTall = read.columns() == target.getVectorLanes();
  isTall || format.words() ? fetchAhead(loop, read, target) : fetchStepShare(loop, read, target);
}

struct PrefetchPanelsPass : mlir::transformer::impl::PrefetchPanelsBase<PrefetchPanelsPass> {
  using Base::Base;
  void runOnOperation() override {
    cpu::TargetAttr target = cpu::TargetAttr::of(getOperation());
    if (!target)
      return signalPassFailure();
    getOperation().walk([&](scf::ForOp loop) {
      if (!isPart(loop, LinearPart::Loop))
        return;
      fetchPanels(loop, target);
      fetchForEpilogue(loop);
    });
  }
};

} // namespace
