//===- AttentionPack.cpp - the keys of a block as panels -------------------===//
#include "codegen/cpu/nests/AttentionNest.h"
#include "codegen/cpu/nests/Panels.h"

using namespace mlir;
using namespace mlir::transformer;

void transformer::packPanels(Emit &b, const PanelRows &from, Value panels, Value count) {
  int64_t lanes = b.lanes(), whole = from.headDim / lanes * lanes;
  int64_t panelColumns = b.target.panelColumns();
  b.forEach(b.index(0), count, 1, [&](Value panel) {
    Value panelRow = b.add(from.first, b.mul(panel, panelColumns));
    auto square = [&](Value dim, int64_t dims) {
      for (int64_t column = 0; column < panelColumns; column += lanes) {
        Values rows;
        for (int64_t i = 0; i < lanes; ++i) {
          Value row = b.min(b.add(panelRow, column + i), from.last);
          rows.push_back(b.loadVector(from.buffer, {row, b.add(from.column, dim)}, dims));
        }
        b.transposeSquare(rows);
        for (int64_t i = 0; i < dims; ++i)
          b.storeVector(rows[i], panels, {panel, b.add(dim, i), b.index(column)});
      }
    };
    if (whole)
      b.forEach(b.index(0), b.index(whole), lanes, [&](Value dim) { square(dim, lanes); });
    if (whole < from.headDim)
      square(b.index(whole), from.headDim - whole);
  });
}

/// The scores of columns behind the block's last key are masked.
void AttentionNest::packKeys(Place &place) {
  Value first = b.add(place.keyRow, place.block);
  Value last = b.sub(b.add(first, place.blockKeys), b.index(1));
  packPanels(b, {k, first, last, place.kvColumn, headDim}, place.keyPanels, place.blockPanels);
}
