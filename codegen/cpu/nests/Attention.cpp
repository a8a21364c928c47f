//===- Attention.cpp - attention on packed rows ---------------------------===//
//
// A task takes a chunk of a sequence's queries for one head. It goes through the
// keys in blocks: a block's keys are packed into the task's own memory
// (AttentionPack.cpp), then register tiles of queries read them
// (AttentionTile.cpp). Packing costs a few hundredths of a whole chunk's work,
// less than sharing the panels between tasks would.
//
// A row's operations and their order do not depend on the tile that the row is
// in, on its place there, or on its neighbours: keys are taken in the same
// blocks and panels, and what a tile computes beyond a row's last key adds an
// exact zero.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/nests/AttentionNest.h"
#include "codegen/cpu/nests/Dropout.h"
#include "codegen/cpu/nests/NestWork.h"
#include "codegen/cpu/nests/Rows.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include <limits>
#include <numeric>

using namespace mlir;
using namespace mlir::transformer;

static bool multipliesBfloat16(kernel::AttentionOp op) {
  FloatType type = op.getOptions().getRounding();
  return type && type.isBF16();
}

AttentionNest::AttentionNest(Emit &b, kernel::AttentionOp op)
    : b(b), heads(op.getNumHeads()), kvHeads(op.getNumKvHeads()),
      headDim(rowWidth(op.getQ()) / heads), tileRows(b.target.tileRows()),
      vectors(b.target.tileVectors()), panelColumns(b.target.panelColumns()),
      causal(op.getOptions().getCausal()), cross(op.getCuQueries() != op.getCuKeys()),
      window(op.getOptions().getWindow()), scale(op.getScale().convertToDouble()), q(op.getQ()),
      k(op.getK()), v(op.getV()), queryOffsets(op.getCuQueries()), keyOffsets(op.getCuKeys()),
      scaleFactor(op.getScaleFactor().empty() ? Value() : op.getScaleFactor().front()),
      bias(op.getPositionBias()), out(op.getOuts()[0]),
      logSumExp(op.getOuts().size() > 1 ? op.getOuts()[1] : Value()),
      relative{op.getQueryScores(), op.getKeyScores(), op.getColumns(), heads, kvHeads},
      dropoutKey(op.getDropoutKey()), dropoutRate(op.getOptions().getDropout().convertToDouble()) {
  inMatrices = b.target.matrixRows() && multipliesBfloat16(op) && !relative.columns && !dropoutKey;
  if (inMatrices) {
    tileRows = panelColumns = 2 * b.target.matrixRows();
    vectors = panelColumns / b.lanes();
  }
  setSizes();
}

void AttentionNest::setSizes() {
  // The strip takes at most half of the first-level cache, packed keys an
  // eighth of the second.
  auto bytes = static_cast<int64_t>(sizeof(float));
  int64_t stripKeys = b.target.getL1Bytes() / 2 / (tileRows * bytes);
  int64_t packedKeys = b.target.getL2Bytes() / 8 / (headDim * bytes);
  keyBlock =
      std::max<int64_t>(panelColumns, llvm::bit_floor<uint64_t>(std::min(stripKeys, packedKeys)));
  if (pages)
    keyBlock = pages->size;
  if (dropoutKey)
    keyBlock = llvm::alignTo(keyBlock, std::lcm(panelColumns, DropoutFactors::group));
  constexpr int64_t chunkRows = 256; // enough to pay for packing, few enough to balance
  queryChunk = llvm::alignTo(chunkRows, tileRows);
}

Value AttentionNest::firstChunk(Value sequence) {
  return b.add(b.div(b.load(queryOffsets, sequence), queryChunk), sequence);
}

void AttentionNest::emit() {
  Value batch = b.sub(b.dim(queryOffsets, 0), b.index(1)), count = firstChunk(batch);
  constexpr double log2e = 1.4426950408889634; // the softmax is one of powers of two
  Value factor = b.scalar(scale * log2e);
  if (scaleFactor)
    factor = b.mulf(factor, scaleFactor);
  auto [work, amounts] = pages
                             ? pagedAttentionWork(b, {heads, headDim, queryOffsets, pages->lengths})
                             : attentionWork(b, {heads, kvHeads, headDim, causal, cross, window,
                                                 queryOffsets, keyOffsets});
  b.parallel(work, amounts, b.mul(count, heads), [&](Value task) {
    Place place;
    if (inMatrices)
      allocateMatrices(place);
    else if (!pages)
      place.keyPanels = b.stackBuffer({keyBlock / panelColumns, headDim, panelColumns});
    place.strip = b.stackBuffer({tileRows, keyBlock});
    if (!inMatrices)
      place.queries = b.stackBuffer({tileRows, headDim});
    place.best = b.stackBuffer({tileRows, b.lanes()});
    for (Value *buffer : {&place.highest, &place.alphas, &place.inverses})
      *buffer = b.stackBuffer({static_cast<int64_t>(llvm::alignTo(tileRows, b.lanes()))});
    place.maxima = b.stackBuffer({queryChunk});
    place.sums = b.stackBuffer({queryChunk});
    place.factor = b.broadcast(factor);
    // The next task is the next head of the same rows: this one fetches for it.
    Value chunk = b.div(task, heads), head = b.rem(task, b.index(heads));
    if (causal) // the long ones first
      chunk = b.sub(b.sub(count, b.index(1)), chunk);
    place.head = head;
    place.column = b.mul(head, headDim);
    place.kvHead = b.div(head, heads / kvHeads);
    place.kvColumn = b.mul(place.kvHead, headDim);
    Value sequence = b.findSegment(batch, chunk, [&](Value s) { return firstChunk(s); });
    Value next = b.add(sequence, 1);
    place.sequence = sequence;
    place.queryRow = b.load(queryOffsets, sequence);
    if (pages) {
      Value length = b.load(pages->lengths, sequence);
      place.keys = arith::IndexCastOp::create(b, b.getIndexType(), length);
    } else {
      place.keyRow = b.load(keyOffsets, sequence);
      place.keys = b.sub(b.load(keyOffsets, next), place.keyRow);
    }
    place.first = b.mul(b.sub(chunk, firstChunk(sequence)), queryChunk);
    Value queries = b.sub(b.load(queryOffsets, next), place.queryRow);
    place.end = b.min(queries, b.add(place.first, queryChunk));
    if (cross &&
        (!seesAll() || bias || relative.columns)) // positions are counted from the end of the keys
      place.shift = b.sub(place.keys, queries);
    b.ifThen(b.lt(place.first, place.end), [&] {
      if (inMatrices)
        cpu::ConfigureMatricesOp::create(b, b.stackBuffer({b.target.matrixRows()}));
      emitChunk(place);
      if (inMatrices)
        cpu::ReleaseMatricesOp::create(b);
    });
  });
}

void AttentionNest::emitChunk(Place &place) {
  Value zero = b.index(0);
  if (cross && !causal)
    b.ifThen(b.eq(place.keys, zero), [&] { clearRows(place, place.first, place.end); });
  if (cross && !seesAll()) {
    Value seeing = b.max(place.first, b.min(place.end, blindQueries(place)));
    clearRows(place, place.first, seeing);
    place.first = seeing;
  }
  Value keys = place.keys, firstBlock = zero;
  if (!seesAll())
    keys = b.min(keys, endOfKeys(place, b.sub(place.end, b.index(1))));
  if (place.shift && !seesAll()) // the last query may not see any, either
    keys = b.select(b.lt(place.first, place.end), keys, zero);
  if (window) // whole blocks: which keys are taken together depends on nothing else
    firstBlock = b.mul(b.div(firstKey(place, place.first), keyBlock), keyBlock);
  b.forEach(firstBlock, keys, keyBlock, [&](Value block) {
    place.block = block;
    place.blockKeys = b.min(b.sub(keys, block), b.index(keyBlock));
    place.blockPanels = b.ceilDiv(place.blockKeys, panelColumns);
    place.isFirst = b.eq(block, zero);
    Value tiles = b.ceilDiv(b.sub(place.end, place.first), tileRows);
    if (pages) {
      findPage(place);
    } else {
      place.keysToFetch = b.ceilDiv(place.blockKeys, tiles);
      place.values = v;
      place.firstValue = b.add(place.keyRow, block);
      place.valueColumn = place.kvColumn;
      inMatrices ? packMatrices(place) : packKeys(place);
    }
    emitRowTiles(place);
  });
}

void AttentionNest::clearRows(Place &place, Value first, Value end) {
  b.forEach(first, end, 1, [&](Value row) {
    Value to = b.add(place.queryRow, row);
    for (int64_t d = 0; d < headDim; d += b.lanes())
      b.storeVector(b.splat(0), out, {to, b.add(place.column, d)},
                    std::min(b.lanes(), headDim - d));
    if (logSumExp)
      b.store(b.scalar(-std::numeric_limits<float>::infinity()), logSumExp, {to, place.head});
  });
}

void transformer::emitNest(Emit &b, kernel::AttentionOp op) { AttentionNest(b, op).emit(); }
