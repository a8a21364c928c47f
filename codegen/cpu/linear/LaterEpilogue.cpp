//===- LaterEpilogue.cpp - a tile's epilogue beside the next one's products -===//
#include "codegen/cpu/linear/LaterEpilogue.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::transformer;

/// Whether `op` says where something is, which another tile's place can be given.
static bool isOfPlaces(Operation &op) { return op.getNumRegions() == 0 && isMemoryEffectFree(&op); }

static bool isBuffer(Operation &op) {
  auto alloc = dyn_cast<memref::AllocOp>(op);
  return alloc && alloc.getType().hasStaticShape();
}

std::optional<LaterEpilogue> LaterEpilogue::of(cpu::MultiplyMatricesOp product) {
  auto tiles = dyn_cast<scf::ForOp>(product->getParentOp());
  if (!tiles)
    return std::nullopt;
  scf::ForOp rows;
  for (Operation &op : tiles.getBody()->without_terminator()) {
    auto loop = dyn_cast<scf::ForOp>(op);
    if (loop && !rows && product->isBeforeInBlock(loop) && loop.getNumResults() == 0 &&
        isZeroInteger(loop.getLowerBound()) && isOneInteger(loop.getStep()))
      rows = loop;
    else if (&op != product && !isOfPlaces(op) && !isBuffer(op))
      return std::nullopt;
  }
  if (!rows)
    return std::nullopt;
  SmallVector<scf::ForOp> loops;
  for (Operation *inner = rows; auto loop = dyn_cast<scf::ForOp>(inner->getParentOp());
       inner = loop) {
    bool isNest = loop.getNumResults() == 0 &&
                  llvm::all_of(loop.getBody()->without_terminator(), [&](Operation &op) {
                    return inner == rows || &op == inner || isOfPlaces(op) || isBuffer(op);
                  });
    if (!isNest)
      break;
    loops.insert(loops.begin(), loop);
  }
  if (loops.empty())
    return std::nullopt;
  return LaterEpilogue(loops, rows);
}

void LaterEpilogue::carry(RewriterBase &rewriter) {
  for (scf::ForOp loop : loops) // what tiles write stays until the next one
    for (Operation &op : llvm::make_early_inc_range(loop.getBody()->without_terminator()))
      if (isBuffer(op))
        rewriter.moveOpBefore(&op, loops.front());
  for (scf::ForOp loop : loops)
    for (Operation &op : loop.getBody()->without_terminator())
      if (isOfPlaces(op))
        places.push_back(&op);
  rewriter.setInsertionPoint(loops.front());
  Value zero = arith::ConstantIndexOp::create(rewriter, rows.getLoc(), 0);
  carryIn(rewriter, 0, SmallVector<Value>(loops.size() + 1, zero));
}

scf::ForOp LaterEpilogue::carryIn(RewriterBase &rewriter, size_t depth, ValueRange init) {
  scf::ForOp loop = loops[depth];
  bool isTiles = depth + 1 == loops.size();
  DictionaryAttr marks = loop->getDiscardableAttrDictionary();
  auto carried = cast<scf::ForOp>(
      loop.replaceWithAdditionalYields(rewriter, init, /*replaceInitOperandUsesInLoop=*/false,
                                       [&](OpBuilder &, Location, ArrayRef<BlockArgument> before) {
                                         return SmallVector<Value>(before.begin(), before.end());
                                       })
          ->getOperation());
  carried->setDiscardableAttrs(marks);
  loops[depth] = carried;
  SmallVector<Value> last;
  if (isTiles) {
    for (scf::ForOp around : loops)
      last.push_back(around.getInductionVar());
    last.push_back(rows.getUpperBound());
  } else {
    llvm::append_range(last,
                       carryIn(rewriter, depth + 1, carried.getRegionIterArgs()).getResults());
  }
  carried.getBody()->getTerminator()->setOperands(last);
  return carried;
}

/// What says where the tile at `place` is.
IRMapping LaterEpilogue::tileAt(OpBuilder &b, ValueRange place) {
  IRMapping map;
  for (auto [loop, at] : llvm::zip_equal(loops, place))
    map.map(loop.getInductionVar(), at);
  for (Operation *op : places)
    b.clone(*op, map);
  return map;
}

void LaterEpilogue::findTile(OpBuilder &b) {
  ValueRange before = loops.back().getRegionIterArgs();
  tileBefore = tileAt(b, before.drop_back());
  rowsBefore = before.back();
}

void LaterEpilogue::cloneRows(OpBuilder &b, IRMapping &tile, Value lower, Value upper) {
  auto part = cast<scf::ForOp>(b.clone(*rows, tile));
  part.setLowerBound(lower);
  part.setUpperBound(upper);
}

void LaterEpilogue::emitRows(ImplicitLocOpBuilder &b, Value k, int64_t size, int64_t all) {
  Value steps = arith::ConstantIndexOp::create(b, all);
  auto share = [&](Value done) -> Value {
    return arith::DivUIOp::create(b, arith::MulIOp::create(b, rowsBefore, done), steps);
  };
  Value next = arith::AddIOp::create(b, k, arith::ConstantIndexOp::create(b, size));
  Value lower = share(k), upper = share(next);
  cloneRows(b, tileBefore, lower, upper);
}

void LaterEpilogue::emitLast(RewriterBase &rewriter) {
  rewriter.setInsertionPointAfter(loops.front());
  ValueRange last = loops.front().getResults();
  IRMapping tile = tileAt(rewriter, last.drop_back());
  Value first = arith::ConstantIndexOp::create(rewriter, rows.getLoc(), 0);
  cloneRows(rewriter, tile, first, last.back());
  rewriter.eraseOp(rows);
}
