//===- RelativeScoresGradient.cpp - backward of relative_scores -----------===//
//
// Two products of every head. For dx a task takes a chunk of rows and goes through the table; for
// dtable it takes a block of the table's rows and goes through all tokens. Both read what they go
// through in blocks, which they copy into their own memory, and add to what they have so far: sums
// are in order, whatever the threads do.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/nests/NestEmitters.h"
#include "codegen/cpu/nests/NestWork.h"
#include "codegen/cpu/nests/Rows.h"
#include "codegen/cpu/nests/TileProducts.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

constexpr int64_t blockRows = 96; // of a chunk or a block: enough to pay for copies

class RelativeScoresGradient {
public:
  RelativeScoresGradient(Emit &b, kernel::RelativeScoresGradientOp op)
      : b(b), x(op.getX()), table(op.getTable()), dy(op.getDy()), dx(op.getOuts()[0]),
        dtable(op.getOuts()[1]), heads(op.getNumHeads()), headDim(rowWidth(x) / heads),
        positions(cast<MemRefType>(table.getType()).getDimSize(0)),
        pitch(llvm::alignTo(headDim, b.target.panelColumns())), tokens(b.dim(x, 0)) {}

  void emit() {
    Value chunks = b.ceilDiv(tokens, blockRows);
    b.parallel(work("dx"), tokens, b.mul(chunks, heads), [&](Value task) {
      head = b.rem(task, b.index(heads));
      auto [lower, upper] = taskRange(b, b.div(task, heads), blockRows, tokens);
      addRows(lower, upper);
    });
    int64_t blocks = llvm::divideCeil(positions, blockRows);
    b.parallel(work("dtable"), tokens, b.index(blocks * heads), [&](Value task) {
      head = b.rem(task, b.index(heads));
      forBlockKind(b.div(task, heads),
                   [&](Value first, int64_t count) { addTableRows(first, count); });
    });
  }

private:
  Work work(StringRef of) {
    Work work = rowWork("relative_scores_gradient " + of.str(), "tokens", heads * headDim, 1);
    work.sizes += " heads=" + std::to_string(heads) + " positions=" + std::to_string(positions);
    work.amounts[0].flops = 2 * heads * headDim * positions;
    work.amounts[0].bytes += rowBytes(heads * positions);
    work.fixedBytes = positions * rowBytes(heads * headDim);
    return work;
  }

  Value column() { return b.mul(head, headDim); }
  Value scoreColumn(Value position) { return b.add(b.mul(head, positions), position); }

  /// Calls `body` with the first position of a block and how many it has, of which the last one may
  /// have fewer.
  void forBlockKind(Value block, function_ref<void(Value first, int64_t count)> body) {
    int64_t whole = positions / blockRows, rest = positions % blockRows;
    auto part = [&](int64_t count) {
      body(b.mul(block, blockRows), count);
      return Values();
    };
    if (!rest)
      part(blockRows);
    else if (!whole)
      part(rest);
    else
      b.ifElse(
          b.lt(block, b.index(whole)), {}, [&] { return part(blockRows); },
          [&] { return part(rest); });
  }

  /// dx of the rows `lower .. upper - 1`.
  void addRows(Value lower, Value upper) {
    Value entries = b.stackBuffer({blockRows, pitch}), last = b.sub(upper, b.index(1));
    b.forEach(lower, upper, 1, [&](Value row) { zeroColumns(b, headDim, dx, row, column()); });
    b.forEach(b.index(0), b.index(positions), blockRows, [&](Value first) {
      Value count = b.min(b.sub(b.index(positions), first), b.index(blockRows));
      copyColumns({table, first, column(), headDim}, count, entries);
      b.forEach(lower, upper, b.target.tileRows(), [&](Value row) {
        addTile({dx, row, last}, count, entries, [&](Value position, Value to) {
          return b.load(dy, {to, scoreColumn(b.add(first, position))});
        });
      });
    });
  }

  /// dtable of `count` rows from `first` on.
  void addTableRows(Value first, int64_t count) {
    // Rows a whole number of pages apart would share few sets of the cache.
    constexpr int64_t padding = 16;
    Value rows = b.stackBuffer({blockRows, pitch});
    Value scores = b.stackBuffer({blockRows, blockRows + padding});
    Value end = b.add(first, count), last = b.sub(end, b.index(1));
    b.forEach(first, end, 1, [&](Value row) { zeroColumns(b, headDim, dtable, row, column()); });
    b.forEach(b.index(0), tokens, blockRows, [&](Value token) {
      Value there = b.min(b.sub(tokens, token), b.index(blockRows));
      copyColumns({x, token, column(), headDim}, there, rows);
      copyColumns({dy, token, scoreColumn(first), count}, there, scores);
      b.forEach(first, end, b.target.tileRows(), [&](Value row) {
        addTile({dtable, row, last}, there, rows,
                [&](Value u, Value to) { return b.load(scores, {u, b.sub(to, first)}); });
      });
    });
  }

  struct Columns {
    Value buffer, row, first;
    int64_t width;
  };

  /// `count` rows to `copies`, with zeros behind their columns.
  void copyColumns(const Columns &from, Value count, Value copies) {
    b.forEach(b.index(0), count, 1, [&](Value row) {
      for (int64_t d = 0; d < rowWidth(copies); d += b.lanes()) {
        int64_t there = std::clamp<int64_t>(from.width - d, 0, b.lanes());
        Value v = b.splat(0);
        if (there)
          v = b.loadVector(from.buffer, {b.add(from.row, row), b.add(from.first, d)}, there);
        b.storeVector(v, copies, {row, b.index(d)});
      }
    });
  }

  /// The rows of a tile. Those behind `last` are that one again: they compute and store its bits.
  struct Tile {
    Value buffer, first, last;
  };

  /// Adds to a row of the tile factor(u, row) rows[u] for u < count.
  void addTile(const Tile &tile, Value count, Value rows,
               function_ref<Value(Value u, Value row)> factor) {
    int64_t height = b.target.tileRows(), vectors = b.target.tileVectors();
    Values row;
    for (int64_t i = 0; i < height; ++i)
      row.push_back(b.min(b.add(tile.first, i), tile.last));
    for (int64_t first = 0; first < headDim; first += b.target.panelColumns()) {
      auto lanes = [&](int64_t j) {
        return std::clamp<int64_t>(headDim - first - j * b.lanes(), 0, b.lanes());
      };
      auto at = [&](int64_t i, int64_t j) {
        return SmallVector<Value>{row[i], b.add(column(), first + j * b.lanes())};
      };
      Values sums(height * vectors, b.splat(0));
      for (int64_t i = 0; i < height; ++i)
        for (int64_t j = 0; j < vectors; ++j)
          if (lanes(j))
            sums[i * vectors + j] = b.loadVector(tile.buffer, at(i, j), lanes(j));
      sums = addProducts(
          b, b.index(0), count, sums, [&](Value u, int64_t i) { return factor(u, row[i]); },
          [&](Value u, int64_t j) {
            return b.loadVector(rows, {u, b.index(first + j * b.lanes())});
          });
      for (int64_t i = 0; i < height; ++i)
        for (int64_t j = 0; j < vectors; ++j)
          if (lanes(j))
            b.storeVector(sums[i * vectors + j], tile.buffer, at(i, j), lanes(j));
    }
  }

  Emit &b;
  Value x, table, dy, dx, dtable;
  int64_t heads, headDim, positions, pitch;
  Value tokens, head;
};

} // namespace

void transformer::emitNest(Emit &b, kernel::RelativeScoresGradientOp op) {
  RelativeScoresGradient(b, op).emit();
}
