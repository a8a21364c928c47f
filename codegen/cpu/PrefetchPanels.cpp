//===- PrefetchPanels.cpp - fetch weights ahead ---------------------------===//
#include "codegen/Linear.h"
#include "codegen/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_PREFETCHPANELS
#include "codegen/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

constexpr int64_t kLineBytes = 64;
/// A tile of fewer rows reads its own panel as fast as memory allows.
constexpr unsigned kFewestRows = 4;
/// Row tiles that share the work of fetching a panel, where a step is one product;
/// the tall tiles of several products fetch all of it, since there may be just one.
constexpr int64_t kTilesPerPanel = 2;
/// Into the second-level cache.
constexpr int64_t kLocality = 2;

/// The first read of the panel in a loop over k: [panel, k, 0] or, with several
/// products a step, [panel, step, 0, 0].
vector::TransferReadOp panelRead(scf::ForOp loop) {
  int64_t rank = loop->hasAttr(kStepOfK) ? 4 : 3;
  for (auto read : loop.getBody()->getOps<vector::TransferReadOp>())
    if (auto type = dyn_cast<MemRefType>(read.getBase().getType()); type && type.getRank() == rank)
      return read;
  return {};
}

/// Tile t of the rows fetches part t of what comes after this block of k, evenly
/// over its own k: the panel's next block, or, behind its end, the first block
/// of the next panel.
void prefetch(scf::ForOp loop) {
  scf::ForOp all = loop; // through all k of the tile
  if (auto parent = dyn_cast<scf::ForOp>(loop->getParentOp()))
    if (parent->hasAttr(kLoopOverKBlocks))
      all = parent;
  auto rows = dyn_cast<scf::ForOp>(all->getParentOp());
  vector::TransferReadOp read = panelRead(loop);
  auto step = getConstantIntValue(loop.getStep());
  auto steps = loop->getAttrOfType<IntegerAttr>(kLoopOverK);
  if (!rows || !read || !steps || !step || loop.getNumResults() < kFewestRows)
    return;
  auto type = cast<MemRefType>(read.getBase().getType());
  auto stepOfK = loop->getAttrOfType<IntegerAttr>(kStepOfK);
  int64_t products = stepOfK ? stepOfK.getInt() : 1, tiles = stepOfK ? 1 : kTilesPerPanel;
  int64_t k = steps.getInt() * products, columns = type.getShape().back();
  int64_t bytes = columns * type.getElementTypeBitWidth() / 8;
  int64_t part = k / tiles, kPerStep = *step * products; // part: k that one tile fetches
  int64_t linesPerStep = kPerStep * bytes / kLineBytes / tiles;
  if (linesPerStep == 0 || kPerStep < tiles)
    return;
  ImplicitLocOpBuilder b(loop.getLoc(), all);
  auto constant = [&](int64_t v) -> Value { return arith::ConstantIndexOp::create(b, v); };
  Value tile = arith::DivUIOp::create(
      b, arith::SubIOp::create(b, rows.getInductionVar(), rows.getLowerBound()), rows.getStep());
  Value first =
      arith::MinUIOp::create(b, arith::MulIOp::create(b, tile, constant(part)), constant(k - part));
  b.setInsertionPointToStart(loop.getBody());
  Value done = arith::SubIOp::create(b, loop.getInductionVar(), all.getLowerBound());
  if (auto before = all->getAttrOfType<IntegerAttr>(kBefore))
    done = arith::AddIOp::create(b, done, constant(before.getInt()));
  Value share = stepOfK ? arith::MulIOp::create(b, done, constant(products)).getResult()
                        : arith::DivUIOp::create(b, done, constant(tiles)).getResult();
  Value row = arith::AddIOp::create(b, first, share);
  int64_t elementsPerLine = kLineBytes * columns / bytes, linesPerRow = bytes / kLineBytes;
  b.setInsertionPoint(read);
  Value start = arith::SubIOp::create(b, read.getIndices()[1], done);
  Value next = stepOfK ? constant(k) : arith::AddIOp::create(b, start, constant(k)).getResult();
  row = arith::AddIOp::create(b, next, row);
  for (int64_t i = 0; i < linesPerStep; ++i) {
    Value line = arith::AddIOp::create(b, row, constant(linesPerRow ? i / linesPerRow : i * 2));
    SmallVector<Value> at = {read.getIndices()[0]};
    if (stepOfK) // behind the last product of the first step
      at.push_back(start);
    at.append({line, constant(linesPerRow ? i % linesPerRow * elementsPerLine : 0)});
    memref::PrefetchOp::create(b, read.getBase(), at, /*isWrite=*/false, kLocality,
                               /*isDataCache=*/true);
  }
}

struct PrefetchPanelsPass : mlir::transformer::impl::PrefetchPanelsBase<PrefetchPanelsPass> {
  using Base::Base;
  void runOnOperation() override {
    getOperation().walk([](scf::ForOp loop) {
      if (loop->hasAttr(kLoopOverK))
        prefetch(loop);
    });
  }
};

} // namespace
