//===- AttentionNest.h - the parts of the attention nest ------------------===//
#ifndef CODEGEN_CPU_NESTS_ATTENTIONNEST_H
#define CODEGEN_CPU_NESTS_ATTENTIONNEST_H

#include "codegen/cpu/nests/AttentionDistance.h"
#include "codegen/cpu/nests/NestEmitters.h"
#include <optional>

namespace mlir::transformer {

/// Keys and values in the pages of a cache.
struct KeyPages {
  Value cache;          // [pages, 2 * size, kvHeads * headDim]
  Value table, lengths; // [B, M], [B]: the pages of a sequence, and how many positions it has
  int64_t size;         // positions of a page
};

/// One attention op on its way to a loop nest: the sizes that the target and
/// the widths fix, and the buffers.
struct AttentionNest {
  AttentionNest(Emit &b, kernel::AttentionOp op);
  AttentionNest(Emit &b, kernel::PagedAttentionOp op);

  Emit &b;
  int64_t heads, kvHeads, headDim;
  int64_t tileRows;     // queries of the register tile
  int64_t vectors;      // vectors in a row of the tile
  int64_t panelColumns; // keys of a panel
  int64_t keyBlock;     // keys that are packed, and scored, at a time
  int64_t queryChunk;   // queries of a task, whole tiles
  bool causal, cross;
  int64_t window; // 0: none
  double scale;
  Value q, k, v, queryOffsets, keyOffsets, scaleFactor, bias, out;
  Value logSumExp; // null: not asked for
  RelativeScores relative;
  Value dropoutKey; // null: nothing is dropped
  double dropoutRate = 0;
  std::optional<KeyPages> pages; // instead of k, v and their offsets
  bool inMatrices = false;       // both products in matrix registers, of bfloat16

  void emit();

private:
  /// Sizes that the target and the widths fix.
  void setSizes();

  /// Where a task works: rows of a sequence, columns of a head; and its memory.
  struct Place {
    Value sequence, queryRow, keyRow, keys, head, kvHead, column, kvColumn;
    Value values, firstValue, valueColumn; // the block's first value, and in what it lies
    Value shift;                           // from a query's row to its position; null: 0
    Value first, end;                      // the task's queries, counted from queryRow
    Value keyPanels;                       // [keyBlock / NR, headDim, NR]
    Value strip;                           // [tileRows, keyBlock] scores, then probabilities
    Value queries;                         // [tileRows, headDim], scaled
    Value best;                            // [tileRows, lanes]: maxima, then sums, of the block
    Value highest;                         // [whole vectors of tileRows], maxima so far
    Value alphas, inverses;                // likewise: what old and new outputs are scaled by
    Value maxima, sums;                    // [queryChunk], of each query so far
    Value factor;                          // what scales the queries: a vector
    Value block, blockKeys;                // the packed keys, counted from keyRow
    Value blockPanels, isFirst;
    Value keysToFetch; // of the next head, by each tile
    // In matrix registers, words of two numbers (AttentionMatrices.cpp):
    Value keyWords;         // [keyBlock / NR, pairs of features, NR]
    Value valueWords;       // [headDim / NR, pairs of keys, NR]
    Value queryWords;       // [2, featureSteps, rows, rows], registers
    Value probabilityWords; // [2, keyBlock / NR, rows, rows], registers
    Value square;           // [featureSteps, rows, rows], keys in front of their transposition
    Value products;         // [tileRows, NR], P V of a panel
  };
  /// A register tile: queries `start .. start + height - 1`. Those behind the
  /// task's last one are that last one again: they compute and store its bits.
  struct Tile {
    Value start, height;
    Value keys, isLast; // the keys of the block that a row may see; no more blocks
    // Of a tile that is written out:
    int64_t rows = 0; // its height
    Values row;       // each row's query, counted from queryRow
  };

  /// The first chunk of sequence b when every sequence may begin one of its own:
  /// offsets[b] / queryChunk + b; of b = batch, the number of chunks. Some are
  /// empty; no prefix sum is needed.
  Value firstChunk(Value sequence);

  // Attention.cpp
  void emitChunk(Place &place);
  /// Zeros for the queries `first .. end - 1`, which see no key.
  void clearRows(Place &place, Value first, Value end);

  // AttentionMask.cpp: which keys a query sees, counted from keyRow, for one that
  // sees some.
  /// Where the query stands among the keys.
  Value position(Place &place, Value row) { return place.shift ? b.add(row, place.shift) : row; }
  Value firstKey(Place &place, Value row); // with a window
  Value endOfKeys(Place &place, Value row);
  bool seesAll() const { return !causal && !window; }
  /// How many queries at the start of the sequence see no key; needs a shift.
  Value blindQueries(Place &place);
  Values maskScores(Values scores, Place &place, Tile &tile, Value firstKey, Value keysLeft);
  /// Scores plus position_bias, of the keys from `firstKey`.
  Values addBias(Values scores, Place &place, Tile &tile, Value firstKey);
  /// Scores plus query_scores and key_scores, likewise.
  Values addRelative(Values scores, Place &place, Tile &tile, Value firstKey);

  // AttentionPack.cpp
  void packKeys(Place &place);

  // AttentionPages.cpp: keys and values of the block at hand, which is a page.
  void findPage(Place &place);

  // AttentionMatrices.cpp
  int64_t matrixSize() const;
  int64_t featureSteps() const;
  void allocateMatrices(Place &place);
  Value wordsOf(Value from, Value row, Value column, int64_t step);
  /// Keys and values of the block.
  void packMatrices(Place &place);
  void roundQueries(Place &place, const Tile &tile);
  /// into[.., column] = sums of the products of `steps` steps of rows and of a panel.
  void multiplyTile(Value rows, Value panels, Value panel, Value steps, Value into, Value column);
  void emitMatrixTile(Place &place, Tile &tile);
  void scaleScores(Place &place, const Tile &tile, Value i, Value panels);
  void storeProbabilities(Place &place, ValueRange p, Value row, Value column);
  void addToOutput(Place &place, const Tile &tile, Value i, Value column, int64_t width);

  // AttentionTile.cpp
  void emitRowTiles(Place &place);
  /// Heights of tiles below the whole one, ascending; the last rows take the lowest that covers
  /// them.
  SmallVector<int64_t> lowerHeights() const;
  /// Writes `body` out for each height.
  void forHeight(Place &place, const Tile &tile, function_ref<void(Tile &)> body);
  /// The query of a tile's row, counted from queryRow.
  Value queryOf(Place &place, const Tile &tile, Value row) {
    return b.min(b.add(tile.start, row), b.sub(place.end, b.index(1)));
  }
  void emitTile(Place &place, const Tile &tile);
  void scaleQueries(Place &place, const Tile &tile);
  /// Fetches the next head's share of the tile's queries and of the block's keys
  /// and values. Their rows are too far apart for the hardware to guess.
  void prefetchNextHead(Place &place, Tile &tile, Value panel, Value panels);
  /// Scores of the block's panels into the strip; their maxima, a vector a row.
  void emitScores(Place &place, Tile &tile, Value panels);
  /// The strip's scores to probabilities; maxima, sums and what the outputs are scaled by.
  void emitSoftmax(Place &place, const Tile &tile, Value panels);
  /// Multiplies the probabilities by their factors, which no sum has.
  void dropProbabilities(Place &place, const Tile &tile);
  /// The probabilities of some rows; their sums, a vector a row, to place.best.
  void emitProbabilities(Place &place, Value panels, ValueRange rows);
  void storeLogSumExp(Place &place, const Tile &tile);
  /// A number of each row, a row a lane; the last row's in the lanes behind it.
  Values rowsToLanes(const Tile &tile, function_ref<Value(Value)> number);
  /// Calls `body` with the first row and the number of rows of vectors that have a row a lane.
  void forRowVectors(function_ref<void(int64_t, int64_t)> body);
  /// Calls `columns` with each panel of a head's columns, and how many it has.
  void forOutputPanels(function_ref<void(Value, int64_t)> columns);
  /// out = (alpha out + P V) inverse, without the first term in the first block.
  void emitOutput(Place &place, Tile &tile);
  void emitOutputColumns(Place &place, Tile &tile, Value panel, int64_t width);
};

} // namespace mlir::transformer

#endif // CODEGEN_CPU_NESTS_ATTENTIONNEST_H
