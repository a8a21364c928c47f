//===- AttentionPack.cpp - the keys of a block as panels -------------------===//
//
// A head's keys are transposed into panels [panel][headDim][NR], which the
// score tile reads like a packed weight.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/nests/AttentionNest.h"

using namespace mlir;
using namespace mlir::transformer;

/// Columns behind the block's last key repeat it: defined values, whose scores
/// the tile masks.
void AttentionNest::packKeys(Place &place) {
  int64_t lanes = b.lanes(), whole = headDim / lanes * lanes;
  Value first = b.add(place.keyRow, place.block);
  Value last = b.sub(b.add(first, place.blockKeys), b.index(1));
  b.forEach(b.index(0), place.blockPanels, 1, [&](Value panel) {
    Value panelRow = b.add(first, b.mul(panel, panelColumns));
    auto square = [&](Value dim, int64_t count) {
      for (int64_t column = 0; column < panelColumns; column += lanes) {
        Values rows;
        for (int64_t i = 0; i < lanes; ++i) {
          Value row = b.min(b.add(panelRow, column + i), last);
          rows.push_back(b.loadVector(k, {row, b.add(place.kvColumn, dim)}, count));
        }
        b.transposeSquare(rows);
        for (int64_t i = 0; i < count; ++i)
          b.storeVector(rows[i], place.keyPanels, {panel, b.add(dim, i), b.index(column)});
      }
    };
    if (whole)
      b.forEach(b.index(0), b.index(whole), lanes, [&](Value dim) { square(dim, lanes); });
    if (whole < headDim)
      square(b.index(whole), headDim - whole);
  });
}
