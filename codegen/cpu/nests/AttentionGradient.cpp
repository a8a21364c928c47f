//===- AttentionGradient.cpp - backward of attention ----------------------===//
//
// A task takes a sequence and a head of its keys, with all heads of queries that share it: no two
// tasks write the same gradient. It goes through the keys in blocks, which it packs into its own
// memory, and for each through the queries in blocks: scores and the products of dresult and values
// as register tiles, from them P and dS of the whole block in one sweep, then what these add to dq,
// dk and dv. Blocks are counted from the sequence's start, so sums do not depend on what else is in
// the batch.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/nests/AttentionDistance.h"
#include "codegen/cpu/nests/Dropout.h"
#include "codegen/cpu/nests/NestEmitters.h"
#include "codegen/cpu/nests/NestWork.h"
#include "codegen/cpu/nests/Panels.h"
#include "codegen/cpu/nests/Rows.h"
#include "codegen/cpu/nests/TileProducts.h"
#include "codegen/math/VectorMath.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace mlir::transformer;

namespace {

constexpr double log2e = 1.4426950408889634, ln2 = 0.6931471805599453;
constexpr int64_t blockRows = 96; // queries and keys of a block, whole tiles

class AttentionGradient {
public:
  AttentionGradient(Emit &b, kernel::AttentionGradientOp op)
      : b(b), op(op), heads(op.getNumHeads()), kvHeads(op.getNumKvHeads()), group(heads / kvHeads),
        headDim(rowWidth(op.getQ()) / heads), tileRows(b.target.tileRows()),
        vectors(b.target.tileVectors()), panelColumns(b.target.panelColumns()),
        queryBlock(llvm::alignTo(blockRows, tileRows)),
        keyBlock(llvm::alignTo(blockRows, std::lcm(panelColumns, DropoutFactors::group))),
        keyRows(llvm::alignTo(keyBlock, tileRows)), pitch(llvm::alignTo(headDim, panelColumns)),
        window(op.getOptions().getWindow()), causal(op.getOptions().getCausal()),
        bias(op.getPositionBias()),
        relative{op.getQueryScores(), op.getKeyScores(), op.getColumns(), heads, kvHeads},
        dropoutKey(op.getDropoutKey()) {
    int64_t next = bias ? 4 : 3;
    if (relative.ofQueries)
      dqueryScores = op.getOuts()[next++];
    if (relative.ofKeys)
      dkeyScores = op.getOuts()[next];
  }

  void emit() {
    Value cuQueries = op.getCuQueries(), cuKeys = op.getCuKeys();
    Value batch = b.sub(b.dim(cuQueries, 0), b.index(1));
    scale = b.scalar(op.getScale().convertToDouble());
    if (op.getScaleFactor())
      scale = b.mulf(scale, op.getScaleFactor());
    auto [work, amounts] = attentionWork(
        b, {heads, kvHeads, headDim, causal, cuQueries != cuKeys, window, cuQueries, cuKeys});
    work.label += "_gradient";
    for (Amount &amount : work.amounts) { // five products where there are two
      amount.flops = amount.flops / 2 * 5;
      amount.bytes *= 2;
    }
    b.parallel(work, amounts, b.mul(batch, kvHeads), [&](Value task) {
      allocate();
      sequence = b.div(task, kvHeads);
      Value next = b.add(sequence, 1);
      kvHead = b.rem(task, b.index(kvHeads));
      queryRow = b.load(cuQueries, sequence);
      keyRow = b.load(cuKeys, sequence);
      queries = b.sub(b.load(cuQueries, next), queryRow);
      keys = b.sub(b.load(cuKeys, next), keyRow);
      shift = cuQueries == cuKeys ? Value() : b.sub(keys, queries);
      kvColumn = b.mul(kvHead, headDim);
      b.forEach(b.index(0), queries, 1, [&](Value row) {
        b.forEach(b.index(0), b.index(group), 1, [&](Value head) {
          zeroColumns(b, headDim, op.getOuts()[0], b.add(queryRow, row), columnOf(head));
          if (dqueryScores)
            zeroScores(dqueryScores, b.add(queryRow, row), headOf(head), heads);
        });
      });
      if (bias)
        b.forEach(b.index(0), b.index(group), 1, [&](Value head) {
          zeroRow(b, rowWidth(op.getOuts().back()), op.getOuts().back(), {sequence, headOf(head)});
        });
      b.forEach(b.index(0), keys, keyBlock, [&](Value first) { emitKeys(first); });
    });
    if (bias)
      sumBiasShares(b, op.getOuts().back(), op.getOuts()[3]);
  }

private:
  void allocate() {
    int64_t numPanels = keyBlock / panelColumns;
    keyPanels = b.stackBuffer({numPanels, headDim, panelColumns});
    valuePanels = b.stackBuffer({numPanels, headDim, panelColumns});
    for (Value *buffer : {&keyCopy, &dkeys, &dvalues})
      *buffer = b.stackBuffer({keyRows, pitch});
    for (Value *buffer : {&queryCopy, &dresults})
      *buffer = b.stackBuffer({queryBlock, pitch});
    // Rows a whole number of pages apart would share few sets of the cache.
    constexpr int64_t padding = 16;
    for (Value *buffer : {&probabilities, &dscores})
      *buffer = b.stackBuffer({queryBlock, keyRows + padding});
    for (Value *buffer : {&shifts, &deltas})
      *buffer = b.stackBuffer({queryBlock});
    if (bias)
      byDistance = b.stackBuffer({queryBlock + keyBlock});
    if (dropoutKey)
      factors = b.stackBuffer({keyBlock});
  }

  Value headOf(Value head) { return b.add(b.mul(kvHead, group), head); }

  /// The first column of a query head of the task's.
  Value columnOf(Value head) { return b.mul(headOf(head), headDim); }

  void sweep(function_ref<void(Value d, int64_t lanes)> body) {
    for (int64_t d = 0; d < headDim; d += b.lanes())
      body(b.index(d), std::min(b.lanes(), headDim - d));
  }

  void zero(Value buffer, Value row) { zeroRow(b, pitch, buffer, row); }
  void zeroScores(Value scores, Value row, Value head, int64_t count) {
    zeroColumns(b, rowWidth(scores) / count, scores, row,
                relative.firstColumn(b, scores, head, count));
  }

  Value positionOf(Value row) { return shift ? b.add(row, shift) : row; }
  /// What `row` sees are the keys from firstKey up to endOfKeys.
  Value endOfKeys(Value row) {
    Value position = positionOf(row);
    if (causal)
      return b.add(position, 1);
    return window ? arith::MinSIOp::create(b, b.add(position, window), keys).getResult() : keys;
  }
  Value firstKey(Value row) { return b.sub(positionOf(row), b.index(window - 1)); }
  Value below(Value a, Value c) { return b.compare(arith::CmpIPredicate::slt, a, c); }

  void emitKeys(Value first) {
    Value count = b.min(b.index(keyBlock), b.sub(keys, first)), from = b.add(keyRow, first);
    Value last = b.sub(b.add(from, count), b.index(1)), panels = b.ceilDiv(count, panelColumns);
    packPanels(b, {op.getK(), from, last, kvColumn, headDim}, keyPanels, panels);
    packPanels(b, {op.getV(), from, last, kvColumn, headDim}, valuePanels, panels);
    b.forEach(b.index(0), b.index(keyRows), 1, [&](Value row) {
      for (Value buffer : {keyCopy, dkeys, dvalues})
        zero(buffer, row);
    });
    b.forEach(b.index(0), count, 1, [&](Value row) {
      if (dkeyScores)
        zeroScores(dkeyScores, b.add(from, row), kvHead, kvHeads);
      sweep([&](Value d, int64_t lanes) {
        Value x = b.loadVector(op.getK(), {b.add(from, row), b.add(kvColumn, d)}, lanes);
        b.storeVector(x, keyCopy, {row, d}, lanes);
      });
    });
    b.forEach(b.index(0), b.index(group), 1, [&](Value head) {
      b.forEach(b.index(0), queries, queryBlock, [&](Value firstQuery) {
        Value number = b.min(b.index(queryBlock), b.sub(queries, firstQuery));
        Value lastQuery = b.sub(b.add(firstQuery, number), b.index(1));
        Value sees = below(first, endOfKeys(lastQuery));
        if (window)
          sees = b.both(sees, below(firstKey(firstQuery), b.add(first, keyBlock)));
        b.ifThen(sees, [&] { emitBlock({head, firstQuery, number, first, count, panels}); });
      });
    });
    b.forEach(b.index(0), count, 1, [&](Value row) {
      sweep([&](Value d, int64_t lanes) {
        SmallVector<Value> to = {b.add(from, row), b.add(kvColumn, d)};
        Value dk = b.loadVector(dkeys, {row, d}, lanes),
              dv = b.loadVector(dvalues, {row, d}, lanes);
        b.storeVector(b.mulf(dk, b.splat(ln2)), op.getOuts()[1], to, lanes);
        b.storeVector(dv, op.getOuts()[2], to, lanes);
      });
    });
  }

  /// Queries and keys whose scores are computed together.
  struct Block {
    Value head, query, queries; // the first one, of the sequence's, and how many
    Value key, keys, panels;
  };

  void emitBlock(const Block &block) {
    Value rows = b.mul(b.ceilDiv(block.queries, tileRows), tileRows);
    b.forEach(b.index(0), block.queries, 1, [&](Value row) { copyQuery(block, row); });
    b.forEach(block.queries, rows, 1, [&](Value row) { // probabilities of 0
      zero(queryCopy, row);
      zero(dresults, row);
      b.store(b.scalar(1e30), shifts, row);
      b.store(b.scalar(0), deltas, row);
    });
    b.forEach(b.index(0), rows, tileRows, [&](Value row) {
      b.ifThen(b.le(keys, b.index(keyBlock)), [&] { fetchNextHead(block, row); });
      emitScores(block, row);
    });
    if (bias)
      zeroRow(b, queryBlock + keyBlock, byDistance, {});
    b.forEach(b.index(0), rows, 1, [&](Value row) { emitProbabilities(block, row); });
    if (bias)
      addBiasGradient(block);
    if (relative.columns)
      addScoreGradients(block);
    b.forEach(b.index(0), rows, tileRows, [&](Value row) { addQueryGradient(block, row); });
    b.forEach(b.index(0), block.keys, tileRows, [&](Value key) {
      auto seeing = rowsOf(block, rows, key);
      addKeyGradient(seeing, key, dscores, queryCopy, dkeys);
      addKeyGradient(seeing, key, probabilities, dresults, dvalues);
    });
  }

  /// A query times scale log2(e), its dresult, and what its scores and dS are shifted by.
  void copyQuery(const Block &block, Value row) {
    Value from = b.add(queryRow, b.add(block.query, row)), column = columnOf(block.head);
    Value delta = b.splat(0), factor = b.broadcast(b.mulf(scale, b.scalar(log2e)));
    sweep([&](Value d, int64_t lanes) {
      SmallVector<Value> at = {from, b.add(column, d)};
      Value x = b.mulf(b.loadVector(op.getQ(), at, lanes), factor);
      Value dy = b.loadVector(op.getDresult(), at, lanes);
      b.storeVector(x, queryCopy, {row, d}, lanes);
      b.storeVector(dy, dresults, {row, d}, lanes);
      delta = emitFma(b, dy, b.loadVector(op.getResult(), at, lanes), delta);
    });
    for (int64_t d = llvm::alignTo(headDim, b.lanes()); d < pitch; d += b.lanes())
      for (Value buffer : {queryCopy, dresults})
        b.storeVector(b.splat(0), buffer, {row, b.index(d)});
    b.store(b.sumLanes(delta), deltas, row);
    Value logSumExp = b.load(op.getLogSumExp(), {from, headOf(block.head)});
    b.store(b.mulf(logSumExp, b.scalar(log2e)), shifts, row);
  }

  /// What the task of the next head, whose columns are behind these, reads and writes of the rows
  /// of a tile: once, where all keys are in one block. Of more it would be gone again.
  void fetchNextHead(const Block &block, Value tile) {
    auto fetch = [&](Value first, Value count, Value column, ValueRange buffers) {
      b.forEach(tile, b.min(b.add(tile, tileRows), count), 1, [&](Value row) {
        for (Value rows : buffers)
          b.prefetchRow(rows, b.add(first, row), b.add(column, headDim), headDim);
      });
    };
    ValueRange outs = op.getOuts();
    fetch(b.add(queryRow, block.query), block.queries, columnOf(block.head),
          {op.getQ(), op.getDresult(), op.getResult(), outs[0]});
    fetch(b.add(keyRow, block.key), block.keys, kvColumn, {op.getK(), op.getV(), outs[1], outs[2]});
  }

  /// How many keys from the block's first on some row of a tile sees, where it may see them.
  Value visibleTo(const Block &block, Value row) {
    Value lastRow = b.add(block.query, b.add(row, tileRows - 1));
    return b.notNegative(b.sub(endOfKeys(lastRow), block.key));
  }
  /// Of a tile of rows the panels of the block of which it may see some, from the first on.
  Value panelsOf(const Block &block, Value row) {
    return b.min(block.panels, b.ceilDiv(visibleTo(block, row), panelColumns));
  }
  /// The keys of the block that it may see, of which each row has probabilities.
  std::pair<Value, Value> keysOf(const Block &block, Value row) {
    Value begin = b.index(0), end = b.mul(block.panels, panelColumns);
    if (causal || window)
      end = b.min(end, visibleTo(block, row));
    if (window)
      begin = b.min(b.notNegative(b.sub(firstKey(b.add(block.query, row)), block.key)), end);
    return {begin, end};
  }
  /// Of `rows` rows of the block those that may see keys of a tile.
  std::pair<Value, Value> rowsOf(const Block &block, Value rows, Value key) {
    Value begin = b.index(0), end = rows;
    Value first = b.add(block.key, key); // as a row of the block
    first = b.sub(shift ? b.sub(first, shift) : first, block.query);
    auto clamp = [&](Value row) { return b.min(b.notNegative(row), rows); };
    if (window)
      end = clamp(b.add(first, tileRows - 1 + window));
    if (causal || window)
      begin = b.min(clamp(causal ? first : b.sub(first, b.index(window - 1))), end);
    return {begin, end};
  }

  Values zeros() { return Values(tileRows * vectors, b.splat(0)); }

  /// Scores, to the probabilities' place, and products of dresult and values, to dS's, of the
  /// panels that a tile may see.
  void emitScores(const Block &block, Value row) {
    b.forEach(b.index(0), panelsOf(block, row), 1, [&](Value panel) {
      auto products = [&](Value rows, Value panels, Value to) {
        Values sums = addProducts(
            b, b.index(0), b.index(headDim), zeros(),
            [&](Value d, int64_t i) { return b.load(rows, {b.add(row, i), d}); },
            [&](Value d, int64_t j) {
              return b.loadVector(panels, {panel, d, b.index(j * b.lanes())});
            });
        for (int64_t i = 0; i < tileRows; ++i)
          for (int64_t j = 0; j < vectors; ++j)
            b.storeVector(sums[i * vectors + j], to,
                          {b.add(row, i), b.add(b.mul(panel, panelColumns), j * b.lanes())});
      };
      products(queryCopy, keyPanels, probabilities);
      products(dresults, valuePanels, dscores);
    });
  }

  void emitProbabilities(const Block &block, Value row) {
    Value shift = b.broadcast(b.load(shifts, row)), delta = b.broadcast(b.load(deltas, row));
    Value query = b.add(block.query, row);
    Value limit = arith::MinSIOp::create(b, b.sub(endOfKeys(query), block.key), block.keys);
    Value first = window ? b.sub(firstKey(query), block.key) : Value();
    // Gradients of scores by distance look at all columns.
    Value tile = b.sub(row, b.rem(row, b.index(tileRows)));
    Value panels = relative.columns ? block.panels : panelsOf(block, tile);
    Value end = b.mul(panels, panelColumns);
    if (dropoutKey) // of the keys that the query sees
      DropoutFactors(b, dropoutKey, op.getOptions().getDropout().convertToDouble(),
                     b.add(headOf(block.head), 1))
          .storeGroups(factors, b.add(queryRow, query), block.key, b.notNegative(limit));
    b.forEach(b.index(0), end, panelColumns, [&](Value column) {
      auto at = [&](int64_t j) { return SmallVector<Value>{row, b.add(column, j * b.lanes())}; };
      Values x;
      for (int64_t j = 0; j < vectors; ++j) {
        Value score = b.loadVector(probabilities, at(j));
        if (bias) {
          Value distance = b.add(b.sub(block.key, positionOf(query)), at(j)[1]);
          score = addPositionBias(b, score, bias, headOf(block.head), distance);
        }
        if (relative.columns)
          score = addRelativeScores(b, score, relative, scoresAt(block, row, at(j)[1]),
                                    b.broadcast(b.mulf(scale, b.scalar(log2e))));
        x.push_back(b.subf(score, shift));
      }
      Values p = emitExp2NonPositive(b, x);
      for (int64_t j = 0; j < vectors; ++j) {
        Value inside = b.lanesBelow(b.sub(limit, column), j * b.lanes());
        if (window) {
          Value outside = b.lanesBelow(b.sub(first, column), j * b.lanes());
          inside = b.both(inside, arith::XOrIOp::create(b, outside, b.lanesBelow(b.lanes())));
        }
        Value none = b.splat(0);
        Value dp = b.loadVector(dscores, at(j)), kept = p[j];
        if (dropoutKey) {
          Value factor = b.loadVector(factors, at(j)[1]);
          dp = b.mulf(dp, factor);
          kept = b.mulf(kept, factor);
        }
        Value ds = b.mulf(p[j], b.subf(dp, delta));
        b.storeVector(b.select(inside, kept, none), probabilities, at(j));
        ds = b.select(inside, ds, none);
        b.storeVector(ds, dscores, at(j));
        if (bias) {
          Value to = b.sub(b.add(at(j)[1], queryBlock - 1), row);
          b.storeVector(b.addf(b.loadVector(byDistance, to), ds), byDistance, to);
        }
      }
    });
  }

  /// The scores of a row of the block from `column` on. A row behind the last query, whose
  /// probabilities are 0, is that one again.
  ScoresAt scoresAt(const Block &block, Value row, Value column) {
    Value query = b.add(block.query, b.min(row, b.sub(block.queries, b.index(1))));
    Value key = b.add(block.key, column), last = b.sub(block.keys, b.index(1));
    return {b.add(queryRow, query), headOf(block.head),  kvHead,
            b.add(keyRow, key),     b.sub(last, column), b.sub(key, positionOf(query))};
  }

  /// The block's dS to the scores by distance that they read. One at a time: neighbours may share
  /// a column. Each row of gradients is finished before the next.
  void addScoreGradients(const Block &block) {
    auto add = [&](Value gradients, Value to, Value first, Value row, Value key) {
      Value distance = b.sub(b.add(block.key, key), positionOf(b.add(block.query, row)));
      SmallVector<Value> at = {to, b.add(first, relative.columnOf(b, distance))};
      Value ds = b.load(dscores, {row, key});
      b.store(emitFma(b, ds, scale, b.load(gradients, at)), gradients, at);
    };
    if (dqueryScores) {
      Value first = relative.firstColumn(b, dqueryScores, headOf(block.head), heads);
      b.forEach(b.index(0), block.queries, 1, [&](Value row) {
        Value to = b.add(queryRow, b.add(block.query, row));
        b.forEach(b.index(0), block.keys, 1,
                  [&](Value key) { add(dqueryScores, to, first, row, key); });
      });
    }
    if (dkeyScores) {
      Value first = relative.firstColumn(b, dkeyScores, kvHead, kvHeads);
      b.forEach(b.index(0), block.keys, 1, [&](Value key) {
        Value to = b.add(keyRow, b.add(block.key, key));
        b.forEach(b.index(0), block.queries, 1,
                  [&](Value row) { add(dkeyScores, to, first, row, key); });
      });
    }
  }

  /// What the block's dS add up to for each distance, to the sequence's share.
  void addBiasGradient(const Block &block) {
    Value first = b.sub(b.sub(block.key, positionOf(block.query)), b.index(queryBlock - 1));
    Value shares = op.getOuts().back(), head = headOf(block.head);
    int64_t reach = rowWidth(shares) / 2;
    bool isSlope = cast<MemRefType>(bias.getType()).getRank() == 1;
    b.forEach(b.index(0), b.index(queryBlock + keyBlock), 1, [&](Value i) {
      Value distance = b.add(first, i), sum = b.load(byDistance, i), at = b.index(0);
      if (isSlope) {
        Value length = arith::MaxSIOp::create(b, distance, b.sub(b.index(0), distance));
        length = arith::IndexCastOp::create(b, b.getI32Type(), length);
        Value times = arith::SIToFPOp::create(b, b.getF32Type(), length);
        sum = b.mulf(sum, arith::NegFOp::create(b, times));
      } else {
        at = arith::MaxSIOp::create(b, distance, b.index(-reach));
        at = b.add(arith::MinSIOp::create(b, at, b.index(reach)), reach);
      }
      SmallVector<Value> to = {sequence, head, at};
      b.store(b.addf(b.load(shares, to), sum), shares, to);
    });
  }

  void forColumns(function_ref<void(int64_t d)> body) {
    for (int64_t d = 0; d < pitch; d += panelColumns)
      body(d);
  }

  /// dq += scale dS K.
  void addQueryGradient(const Block &block, Value row) {
    Value factor = b.broadcast(scale);
    auto [begin, end] = keysOf(block, row);
    forColumns([&](int64_t first) {
      Values sums = addProducts(
          b, begin, end, zeros(),
          [&](Value key, int64_t i) { return b.load(dscores, {b.add(row, i), key}); },
          [&](Value key, int64_t j) {
            return b.loadVector(keyCopy, {key, b.index(first + j * b.lanes())});
          });
      for (int64_t i = 0; i < tileRows; ++i)
        b.ifThen(b.lt(b.add(row, i), block.queries), [&] {
          Value to = b.add(queryRow, b.add(block.query, b.add(row, i)));
          for (int64_t j = 0; j < vectors; ++j) {
            int64_t d = first + j * b.lanes(), lanes = std::min(b.lanes(), headDim - d);
            if (lanes <= 0)
              continue;
            SmallVector<Value> at = {to, b.add(columnOf(block.head), d)};
            Value old = b.loadVector(op.getOuts()[0], at, lanes);
            b.storeVector(emitFma(b, sums[i * vectors + j], factor, old), op.getOuts()[0], at,
                          lanes);
          }
        });
    });
  }

  /// sums[key + i] += of[row][key + i] by[row] for the rows of the block that see them.
  void addKeyGradient(std::pair<Value, Value> rows, Value key, Value of, Value by, Value sums) {
    auto [begin, end] = rows;
    forColumns([&](int64_t first) {
      auto at = [&](int64_t i, int64_t j) {
        return SmallVector<Value>{b.add(key, i), b.index(first + j * b.lanes())};
      };
      Values tile;
      for (int64_t i = 0; i < tileRows; ++i)
        for (int64_t j = 0; j < vectors; ++j)
          tile.push_back(b.loadVector(sums, at(i, j)));
      tile = addProducts(
          b, begin, end, tile,
          [&](Value row, int64_t i) { return b.load(of, {row, b.add(key, i)}); },
          [&](Value row, int64_t j) {
            return b.loadVector(by, {row, b.index(first + j * b.lanes())});
          });
      for (int64_t i = 0; i < tileRows; ++i)
        for (int64_t j = 0; j < vectors; ++j)
          b.storeVector(tile[i * vectors + j], sums, at(i, j));
    });
  }

  Emit &b;
  kernel::AttentionGradientOp op;
  int64_t heads, kvHeads, group, headDim, tileRows, vectors, panelColumns;
  int64_t queryBlock, keyBlock, keyRows, pitch, window;
  bool causal;
  Value bias; // null: none
  RelativeScores relative;
  Value dropoutKey;               // null: nothing is dropped
  Value dqueryScores, dkeyScores; // null: none
  Value scale;                    // a scalar
  Value sequence, queryRow, keyRow, queries, keys, kvHead, kvColumn;
  Value shift; // from a query to its position among the keys; null: 0
  Value keyPanels, valuePanels, keyCopy, dkeys, dvalues, queryCopy, dresults;
  Value probabilities, dscores, shifts, deltas;
  Value byDistance; // sums of the block's dS
  Value factors;    // [keyBlock], of dropout, of a row
};

} // namespace

void transformer::emitNest(Emit &b, kernel::AttentionGradientOp op) {
  AttentionGradient(b, op).emit();
}
