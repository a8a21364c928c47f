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
/// Row tiles that share the work of fetching a panel.
constexpr int64_t kTilesPerPanel = 2;
/// Into the second-level cache.
constexpr int64_t kLocality = 2;

/// The read of the panel in a loop over k: rank 3, [panel, k, 0].
vector::TransferReadOp panelRead(scf::ForOp loop) {
  for (auto read : loop.getBody()->getOps<vector::TransferReadOp>())
    if (auto type = dyn_cast<MemRefType>(read.getBase().getType()); type && type.getRank() == 3)
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
  int64_t k = steps.getInt(), columns = type.getDimSize(2);
  int64_t bytes = columns * type.getElementTypeBitWidth() / 8;
  int64_t part = k / kTilesPerPanel; // k that one tile fetches
  int64_t linesPerStep = *step * bytes / kLineBytes / kTilesPerPanel;
  int64_t rowsPerStep = *step / kTilesPerPanel;
  if (linesPerStep == 0 || rowsPerStep == 0)
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
  Value row =
      arith::AddIOp::create(b, first, arith::DivUIOp::create(b, done, constant(kTilesPerPanel)));
  int64_t elementsPerLine = kLineBytes * columns / bytes, linesPerRow = bytes / kLineBytes;
  b.setInsertionPoint(read);
  Value start = arith::SubIOp::create(b, read.getIndices()[1], done);
  row = arith::AddIOp::create(b, arith::AddIOp::create(b, start, constant(k)), row);
  for (int64_t i = 0; i < linesPerStep; ++i) {
    Value line = arith::AddIOp::create(b, row, constant(linesPerRow ? i / linesPerRow : i * 2));
    Value column = constant(linesPerRow ? i % linesPerRow * elementsPerLine : 0);
    memref::PrefetchOp::create(b, read.getBase(), ValueRange{read.getIndices()[0], line, column},
                               /*isWrite=*/false, kLocality, /*isDataCache=*/true);
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
