//===- Attention.cpp - attention on packed rows ---------------------------===//
//
// Two parallel loops. The first transposes the keys into panels
// [panel][kv head][D][NR], which the score tile reads like a packed weight. In
// the second a task takes a chunk of a sequence's queries for one head and walks
// them in register tiles (AttentionTile.cpp).
//
// A row's operations and their order do not depend on the tile that the row is
// in, on its place there, or on its neighbours: keys are taken in the same
// blocks and panels, and what a tile computes beyond a row's last key adds an
// exact zero.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/nests/AttentionNest.h"
#include "codegen/cpu/nests/Rows.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace mlir::transformer;

AttentionNest::AttentionNest(Emit &b, kernel::AttentionOp op)
    : b(b), heads(op.getNumHeads()), kvHeads(op.getNumKvHeads()),
      headDim(rowWidth(op.getQ()) / heads), tileRows(b.target.tileRows()),
      vectors(b.target.tileVectors()), panelColumns(b.target.panelColumns()),
      causal(op.getCausal()), cross(op.getCuQueries() != op.getCuKeys()),
      scale(op.getScale().convertToDouble()), q(op.getQ()), k(op.getK()), v(op.getV()),
      queryOffsets(op.getCuQueries()), keyOffsets(op.getCuKeys()),
      scaleFactor(op.getScaleFactor().empty() ? Value() : op.getScaleFactor().front()),
      out(op.getOuts()[0]), panels(op.getOuts()[1]) {
  // The strip takes half of the first-level cache.
  int64_t stripKeys = b.target.l1Bytes / 2 / (tileRows * sizeof(float));
  keyBlock = std::max<int64_t>(panelColumns, llvm::bit_floor<uint64_t>(stripKeys));
  constexpr int64_t chunkRows = 64; // enough to amortise a task, few enough to balance
  queryChunk = (chunkRows + tileRows - 1) / tileRows * tileRows;
}

Value AttentionNest::pieces(Value offsets, int64_t size) {
  Value batch = b.sub(b.dim(offsets, 0), b.index(1));
  return firstPiece(offsets, size, batch);
}

Value AttentionNest::firstPiece(Value offsets, int64_t size, Value sequence) {
  return b.add(b.div(b.load(offsets, sequence), size), sequence);
}

void AttentionNest::emit() {
  emitKeyPanels();
  emitQueries();
}

void AttentionNest::emitKeyPanels() {
  Value batch = b.sub(b.dim(keyOffsets, 0), b.index(1));
  Value count = pieces(keyOffsets, panelColumns);
  int64_t size = Emit::itemsPerTask(panelColumns * kvHeads * headDim);
  std::string label = "attention_keys " + std::to_string(kvHeads) + "x" + std::to_string(headDim);
  b.parallel(label, b.ceilDiv(count, size), [&](Value task) {
    auto [lower, upper] = taskRange(b, task, size, count);
    b.forEach(lower, upper, 1, [&](Value panel) {
      auto start = [&](Value s) { return firstPiece(keyOffsets, panelColumns, s); };
      Value sequence = b.findSegment(batch, panel, start);
      Value first = b.load(keyOffsets, sequence), end = b.load(keyOffsets, b.add(sequence, 1));
      Value row = b.add(first, b.mul(b.sub(panel, start(sequence)), panelColumns));
      b.ifThen(b.lt(row, end), [&] { emitPanel(panel, row, b.sub(end, b.index(1))); });
    });
  });
}

/// Keys from `firstRow` into a panel. Columns behind the sequence's last row
/// repeat it: defined values, which the score tile masks.
void AttentionNest::emitPanel(Value panel, Value firstRow, Value lastRow) {
  int64_t lanes = b.lanes();
  auto block = [&](Value head, Value dim, int64_t count) {
    for (int64_t column = 0; column < panelColumns; column += lanes) {
      Values square;
      for (int64_t i = 0; i < lanes; ++i) {
        Value row = b.min(b.add(firstRow, column + i), lastRow);
        square.push_back(b.loadVector(k, {row, b.add(b.mul(head, headDim), dim)}, count));
      }
      b.transposeSquare(square);
      for (int64_t i = 0; i < count; ++i)
        b.storeVector(square[i], panels, {panel, head, b.add(dim, i), b.index(column)});
    }
  };
  int64_t whole = headDim / lanes * lanes;
  b.forEach(b.index(0), b.index(kvHeads), 1, [&](Value head) {
    if (whole)
      b.forEach(b.index(0), b.index(whole), lanes, [&](Value dim) { block(head, dim, lanes); });
    if (whole < headDim)
      block(head, b.index(whole), headDim - whole);
  });
}

void AttentionNest::emitQueries() {
  Value batch = b.sub(b.dim(queryOffsets, 0), b.index(1));
  Value chunks = pieces(queryOffsets, queryChunk);
  constexpr double log2e = 1.4426950408889634; // the softmax is one of powers of two
  Value factor = b.scalar(scale * log2e);
  if (scaleFactor)
    factor = b.mulf(factor, scaleFactor);
  std::string label = "attention " + std::to_string(heads) + "x" + std::to_string(headDim);
  b.parallel(label, b.mul(chunks, heads), [&](Value task) {
    Place place;
    place.strip = b.stackBuffer({tileRows, keyBlock});
    place.queries = b.stackBuffer({tileRows, headDim});
    place.factor = b.broadcast(factor);
    // Neighbouring tasks share a head's keys and values.
    Value chunk = b.rem(task, chunks);
    if (causal) // the long ones first
      chunk = b.sub(b.sub(chunks, b.index(1)), chunk);
    place.head = b.div(task, chunks);
    place.kvHead = b.div(place.head, heads / kvHeads);
    place.column = b.mul(place.head, headDim);
    place.kvColumn = b.mul(place.kvHead, headDim);
    auto start = [&](Value s) { return firstPiece(queryOffsets, queryChunk, s); };
    Value sequence = b.findSegment(batch, chunk, start), next = b.add(sequence, 1);
    place.queryRow = b.load(queryOffsets, sequence);
    place.keyRow = b.load(keyOffsets, sequence);
    place.keys = b.sub(b.load(keyOffsets, next), place.keyRow);
    place.firstPanel = firstPiece(keyOffsets, panelColumns, sequence);
    Value first = b.mul(b.sub(chunk, start(sequence)), queryChunk);
    Value end = b.min(b.sub(b.load(queryOffsets, next), place.queryRow), b.add(first, queryChunk));
    if (!cross)
      return emitRowTiles(place, first, end);
    auto tiles = [&] {
      emitRowTiles(place, first, end);
      return Values();
    };
    auto nothing = [&] {
      b.forEach(first, end, 1, [&](Value row) {
        Value to = b.add(place.queryRow, row);
        for (int64_t d = 0; d < headDim; d += b.lanes())
          b.storeVector(b.splat(0), out, {to, b.add(place.column, d)},
                        std::min(b.lanes(), headDim - d));
      });
      return Values();
    };
    b.ifElse(b.eq(place.keys, b.index(0)), TypeRange(), nothing, tiles);
  });
}

void transformer::emitAttention(Emit &b, kernel::AttentionOp op) { AttentionNest(b, op).emit(); }
