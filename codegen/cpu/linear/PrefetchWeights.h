//===- PrefetchWeights.h - fetch what the next task packs -------*- C++ -*-===//
#ifndef CODEGEN_CPU_LINEAR_PREFETCHWEIGHTS_H
#define CODEGEN_CPU_LINEAR_PREFETCHWEIGHTS_H

#include "codegen/cpu/dialect/CpuDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::transformer {

/// A read of a panel, `[panel, k, column]` or, with several rows of it a step, `[panel, step, row,
/// column]`; of a group's words, `[panel, group, word, column]`; of matrix registers, `[panel,
/// part, step, column]`.
struct PanelRead {
  Operation *op = nullptr; // null: there is none
  Value panel;
  SmallVector<Value> indices;

  explicit operator bool() const { return op; }
  Location loc() const { return op->getLoc(); }
  int64_t columns() const { return type().getShape().back(); }
  int64_t rowBytes() const { return columns() * type().getElementTypeBitWidth() / 8; }

  /// The buffer that the panel is a part of.
  Value all() const {
    Value panels = panel;
    while (auto slice = panels.getDefiningOp<memref::SubViewOp>())
      panels = slice.getSource();
    return panels;
  }

private:
  MemRefType type() const { return cast<MemRefType>(panel.getType()); }
};

/// Of the register tiles that `rows` goes through: how many there are, and the number of its own.
Value numTiles(ImplicitLocOpBuilder &b, scf::ForOp rows);
Value numberOfTile(ImplicitLocOpBuilder &b, scf::ForOp rows);
/// Turns over k of the tiles that `rows` goes through, of one at least; `loop` has constant steps.
Value numTurns(ImplicitLocOpBuilder &b, scf::ForOp rows, scf::ForOp loop);
/// Of all k of a tile those in front of this turn of `loop`.
Value doneOfK(ImplicitLocOpBuilder &b, scf::ForOp loop);

/// Of `lines`, which all turns of `loop` of all tiles share evenly, those of this turn: the first
/// and the one behind the last, where `b` stands in it. Nothing where no rows are gone through.
std::optional<std::pair<Value, Value>> linesOfTurn(ImplicitLocOpBuilder &b, scf::ForOp loop,
                                                   int64_t lines);

/// What makes the panel that is read, if that is in its task; null if not.
Operation *packOf(const PanelRead &read);

/// Tiles share what the next task, which the same thread mostly takes, will pack: in each turn of
/// `loop`, which goes through k, some lines of the weight. Fetched all at once most were dropped.
void fetchNextWeight(scf::ForOp loop, const PanelRead &read, cpu::PackWeightOp pack,
                     cpu::TargetAttr target);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_LINEAR_PREFETCHWEIGHTS_H
