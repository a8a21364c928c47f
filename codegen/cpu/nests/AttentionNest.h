//===- AttentionNest.h - the parts of the attention nest ------------------===//
#ifndef CODEGEN_CPU_NESTS_ATTENTIONNEST_H
#define CODEGEN_CPU_NESTS_ATTENTIONNEST_H

#include "codegen/cpu/nests/NestEmitters.h"

namespace mlir::transformer {

/// One attention op on its way to a loop nest: the sizes that the target and
/// the widths fix, and the buffers.
struct AttentionNest {
  AttentionNest(Emit &b, kernel::AttentionOp op);

  Emit &b;
  int64_t heads, kvHeads, headDim;
  int64_t tileRows;     // queries of the register tile
  int64_t vectors;      // vectors in a row of the tile
  int64_t panelColumns; // keys of a panel
  int64_t keyBlock;     // keys whose scores are in the strip at a time
  int64_t queryChunk;   // queries of a task
  bool causal, cross;
  double scale;
  Value q, k, v, queryOffsets, keyOffsets, scaleFactor, out, panels;

  void emit();

private:
  /// Where a task works: rows of a sequence, columns of a head.
  struct Place {
    Value queryRow, keyRow, keys, firstPanel, head, kvHead, column, kvColumn;
    Value strip;   // [tileRows, keyBlock] scores, then probabilities
    Value queries; // [tileRows, headDim], scaled
    Value factor;  // what scales the queries: a vector
  };

  /// The number of pieces of `size` rows when every sequence may begin a piece
  /// of its own, and the first piece of sequence b: offsets[b] / size + b. Some
  /// pieces are empty; no prefix sum is needed.
  Value pieces(Value offsets, int64_t size);
  Value firstPiece(Value offsets, int64_t size, Value sequence);

  void emitKeyPanels();
  void emitPanel(Value panel, Value firstRow, Value lastRow);
  void emitQueries();

  // AttentionTile.cpp: queries `start .. start + rows - 1` of a sequence.
  void emitRowTiles(Place &place, Value first, Value end);
  void emitTile(Place &place, Value start, int64_t rows);
  void scaleQueries(Place &place, Value start, int64_t rows);
  /// Scores of the block's panels into the strip; their maxima, a vector a row.
  Values emitScores(Place &place, Value start, int64_t rows, Value block, Value blockKeys,
                    Value blockPanels);
  Values maskScores(Values scores, Value start, int64_t rows, Value firstKey, Value keysLeft);
  /// The strip's scores to probabilities; their sums, a vector a row.
  Values emitProbabilities(Place &place, int64_t rows, Value blockPanels, ValueRange shift);
  /// out = (alpha out + P V) inverse, without the first term in the first block.
  void emitOutput(Place &place, Value start, int64_t rows, Value block, Value blockKeys,
                  Value isFirst, ValueRange alpha, ValueRange inverse);
  void emitOutputColumns(Place &place, Value row, int64_t rows, Value block, Value blockKeys,
                         Value isFirst, ValueRange alpha, ValueRange inverse, Value column,
                         int64_t width);
};

} // namespace mlir::transformer

#endif // CODEGEN_CPU_NESTS_ATTENTIONNEST_H
