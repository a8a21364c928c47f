//===- LaterEpilogue.h - a tile's epilogue beside the next one's products -*- C++ -*-===//
//
// Matrix registers multiply beside the vector registers. But a tile's sums go through memory at
// once, and what its epilogue reads and writes waits for other caches or for memory, so products
// behind it start late. Its rows are taken in turn with the steps of the next tile's sums instead,
// whichever that is in the task; those of the last tile come last.
//
//===----------------------------------------------------------------------===//
#ifndef CODEGEN_CPU_LINEAR_LATEREPILOGUE_H
#define CODEGEN_CPU_LINEAR_LATEREPILOGUE_H

#include "codegen/cpu/dialect/CpuDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::transformer {

class LaterEpilogue {
public:
  /// Nothing if what surrounds `product` is not loops over tiles, or what is behind it no loop over
  /// its rows.
  static std::optional<LaterEpilogue> of(cpu::MultiplyMatricesOp product);

  /// Takes the epilogue out of the loops, which say from then on which tile is the last one.
  void carry(RewriterBase &rewriter);
  /// In front of the loop over k: where the tile before has its rows.
  void findTile(OpBuilder &b);
  /// In it: the rows of the tile before that belong to the step at `k` of `size` of `all`.
  void emitRows(ImplicitLocOpBuilder &b, Value k, int64_t size, int64_t all);
  /// Behind the loops: the last tile's rows.
  void emitLast(RewriterBase &rewriter);

private:
  LaterEpilogue(SmallVector<scf::ForOp> loops, scf::ForOp rows) : loops(loops), rows(rows) {}

  scf::ForOp carryIn(RewriterBase &rewriter, size_t depth, ValueRange init);
  IRMapping tileAt(OpBuilder &b, ValueRange place);
  void cloneRows(OpBuilder &b, IRMapping &tile, Value lower, Value upper);

  SmallVector<scf::ForOp> loops; // from the outermost to that over the panel's tiles
  scf::ForOp rows;
  SmallVector<Operation *> places; // what says in the loops where a tile is
  IRMapping tileBefore;
  Value rowsBefore; // how many the tile before has, 0 in front of the first
};

} // namespace mlir::transformer

#endif // CODEGEN_CPU_LINEAR_LATEREPILOGUE_H
