//===- RelativeScores.cpp - products of heads with a table's rows ---------===//
//
// A task takes a chunk of rows and a head. It goes through the table in panels
// of its rows, which it transposes into its own memory; a register tile of rows
// at a time reads a panel. A product is one sum over the head's columns, in
// order.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/nests/NestEmitters.h"
#include "codegen/cpu/nests/NestWork.h"
#include "codegen/cpu/nests/Panels.h"
#include "codegen/cpu/nests/Rows.h"
#include "codegen/math/VectorMath.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

struct RelativeScoresNest {
  Emit &b;
  Value x, table, result;
  int64_t heads, headDim, positions, columns;

  RelativeScoresNest(Emit &b, kernel::RelativeScoresOp op)
      : b(b), x(op.getX()), table(op.getTable()), result(op.getOuts()[0]), heads(op.getNumHeads()),
        headDim(rowWidth(x) / heads), positions(cast<MemRefType>(table.getType()).getDimSize(0)),
        columns(b.target.panelColumns()) {}

  void emit() {
    constexpr int64_t chunkRows = 64; // enough to pay for packing
    Value rows = b.dim(x, 0), chunks = b.ceilDiv(rows, chunkRows);
    Work work = rowWork("relative_scores", "tokens", heads * headDim, 1, table);
    work.sizes += " heads=" + std::to_string(heads) + " positions=" + std::to_string(positions);
    work.amounts[0].flops = 2 * heads * headDim * positions;
    work.amounts[0].bytes += rowBytes(heads * positions);
    work.fixedBytes = positions * rowBytes(heads * headDim);
    b.parallel(work, rows, b.mul(chunks, heads), [&](Value task) {
      Value panel = b.stackBuffer({1, headDim, columns});
      auto [lower, upper] = taskRange(b, b.div(task, heads), chunkRows, rows);
      Value head = b.rem(task, b.index(heads)), last = b.sub(upper, b.index(1));
      auto emitPanel = [&](Value first, int64_t width) {
        PanelRows source{table, first, b.index(positions - 1), b.mul(head, headDim), headDim};
        packPanels(b, source, panel, b.index(1));
        b.forEach(lower, upper, b.target.tileRows(),
                  [&](Value start) { emitTile(panel, start, last, head, first, width); });
      };
      int64_t whole = positions / columns * columns;
      if (whole)
        b.forEach(b.index(0), b.index(whole), columns,
                  [&](Value first) { emitPanel(first, columns); });
      if (whole < positions)
        emitPanel(b.index(whole), positions - whole);
    });
  }

  /// `width` products of the rows from `start` on. Those behind `last` are that
  /// one again: they compute and store its bits.
  void emitTile(Value panel, Value start, Value last, Value head, Value first, int64_t width) {
    int64_t lanes = b.lanes(), vectors = b.target.tileVectors(), rows = b.target.tileRows();
    Values row, sums(rows * vectors, b.splat(0));
    for (int64_t i = 0; i < rows; ++i)
      row.push_back(b.min(b.add(start, i), last));
    Value column = b.mul(head, headDim);
    sums = b.loop(b.index(0), b.index(headDim), 1, sums, [&](Value d, ValueRange args) {
      Values s(args), keys;
      for (int64_t j = 0; j < vectors; ++j)
        keys.push_back(b.loadVector(panel, {b.index(0), d, b.index(j * lanes)}));
      for (int64_t i = 0; i < rows; ++i) {
        Value v = b.broadcast(b.load(x, {row[i], b.add(column, d)}));
        for (int64_t j = 0; j < vectors; ++j)
          s[i * vectors + j] = emitFma(b, v, keys[j], s[i * vectors + j]);
      }
      return s;
    });
    Value to = b.add(b.mul(head, positions), first);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j * lanes < width; ++j)
        b.storeVector(sums[i * vectors + j], result, {row[i], b.add(to, j * lanes)},
                      std::min(lanes, width - j * lanes));
  }
};

} // namespace

void transformer::emitNest(Emit &b, kernel::RelativeScoresOp op) {
  RelativeScoresNest(b, op).emit();
}
