//===- AttentionGradientNest.cpp - backward of attention by blocks --------===//
#include "codegen/gpu/nests/AttentionGradientNest.h"
#include "codegen/gpu/nests/Blocks.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

void AttentionGradientNest::emitDeltas() {
  Value y = op.getResult(), dy = op.getDresult();
  b.threads({b.dim(y, 0), b.index(scores.heads)}, [&](ValueRange at) {
    Value sum = b.sum(scores.headDim, [&](Value d) {
      Values place = {at[0], b.add(scores.column(at[1]), d)};
      return b.mulf(loadFloat(b, dy, place), loadFloat(b, y, place));
    });
    b.store(sum, buffers.deltas, at);
  });
}

void AttentionGradientNest::forTilesOfQueries(int64_t rows, int64_t threads,
                                              function_ref<void(const Work &, Value)> body) {
  int64_t group = scores.group();
  Value cu = op.getCuQueries(), tiles = countTiles(b, b.dim(op.getQ(), 0), cu, group, rows);
  blocks(b, {tiles, b.index(scores.kvHeads)}, threads, [&](ValueRange at, Value thread) {
    Work work{tileOf(at[0], thread, cu, group, rows), {}, at[1]};
    work.keys = sequenceIn(op.getCuKeys(), work.queries.sequence);
    b.ifThen(b.less(work.queries.first, b.mul(work.queries.tokens, group)),
             [&] { body(work, thread); });
  });
}

void AttentionGradientNest::forTilesOfKeys(int64_t rows, int64_t threads,
                                           function_ref<void(const Work &, Value)> body) {
  Value cu = op.getCuKeys(), tiles = countTiles(b, b.dim(op.getK(), 0), cu, 1, rows);
  blocks(b, {tiles, b.index(scores.kvHeads)}, threads, [&](ValueRange at, Value thread) {
    Work work{{}, tileOf(at[0], thread, cu, 1, rows), at[1]};
    work.queries = sequenceIn(op.getCuQueries(), work.keys.sequence);
    b.ifThen(b.less(work.keys.first, work.keys.tokens), [&] { body(work, thread); });
  });
}

SequenceTile AttentionGradientNest::tileOf(Value number, Value thread, Value cu, int64_t group,
                                           int64_t rows) {
  return byWarp ? findTileByWarp(b, number, thread, cu, group, rows)
                : findTile(b, number, cu, group, rows);
}

SequenceTile AttentionGradientNest::sequenceIn(Value cu, Value sequence) {
  Value first = b.load(cu, sequence);
  return {sequence, b.index(0), first, b.sub(b.load(cu, b.add(sequence, 1)), first)};
}

std::pair<Value, Value> AttentionGradientNest::tilesOfKeys(const Work &work, int64_t rows,
                                                           int64_t columns) {
  Value last = b.add(work.queries.first, rows - 1);
  Value from = b.div(rowOf(work, work.queries.first).from, columns);
  Value end = b.max(rowOf(work, last).end, b.index(0));
  return {from, b.div(b.add(end, columns - 1), columns)};
}

std::pair<Value, Value> AttentionGradientNest::queriesOf(const Work &work, Value key) {
  // Of the places of queries among the keys, of which those may be negative that see none.
  Value shift = b.sub(work.keys.tokens, work.queries.tokens), group = b.index(scores.group());
  auto [from, end] = scores.queriesOf(key, shift, b.add(shift, work.queries.tokens));
  return {b.mul(b.sub(from, shift), group), b.mul(b.sub(end, shift), group)};
}

std::pair<Value, Value> AttentionGradientNest::tilesOfQueries(const Work &work, int64_t rows,
                                                              int64_t columns) {
  Value last = b.min(b.add(work.keys.first, rows), work.keys.tokens);
  Value from = queriesOf(work, work.keys.first).first;
  Value end = b.max(queriesOf(work, b.sub(last, b.index(1))).second, b.index(0));
  return {b.div(from, columns), b.div(b.add(end, columns - 1), columns)};
}

Values AttentionGradientNest::through(int64_t slots, int64_t columns, Value from, Value end,
                                      ValueRange values, function_ref<void(Value, Value)> copy,
                                      function_ref<Values(Value, Value, ValueRange)> turn) {
  auto placeOf = [&](Value number) { return b.mul(b.rem(number, slots), columns); };
  if (slots > 1)
    b.ifThen(b.less(from, end), [&] { copy(placeOf(from), from); });
  Values sums = b.loop(from, end, values, [&](Value number, ValueRange before) {
    if (slots == 1) {
      barrier(b); // the one before is read
      copy(placeOf(number), number);
    }
    waitForCopies(b);
    barrier(b);
    Value following = b.add(number, 1);
    if (slots > 1)
      b.ifThen(b.less(following, end), [&] { copy(placeOf(following), following); });
    return turn(placeOf(number), number, before);
  });
  waitForCopies(b); // there is no tile: of the block's rows
  return sums;
}

void AttentionGradientNest::withOwnRow(const Work &work, int64_t rows, Value thread,
                                       function_ref<void(const QueryRow &)> body) {
  if (!isTable())
    return;
  b.ifThen(b.less(thread, b.index(rows)), [&] {
    QueryRow row = rowOf(work, b.add(work.queries.first, thread));
    b.ifThen(row.isThere, [&] { body(row); });
  });
}

void AttentionGradientNest::clearTable(const Work &work, int64_t rows, Value thread) {
  withOwnRow(work, rows, thread, [&](const QueryRow &row) {
    clearColumns(b, buffers.dbias, row.query, firstColumn(b, buffers.dbias, row.head, scores.heads),
                 rowWidth(buffers.dbias) / scores.heads);
  });
}

void AttentionGradientNest::addToTable(const Work &work, int64_t rows, Value thread,
                                       Value gradients, Value first, int64_t columns) {
  withOwnRow(work, rows, thread, [&](const QueryRow &row) {
    b.forEach(b.index(0), b.index(columns), [&](Value i) {
      Value distance = b.sub(b.add(first, i), row.place), ds = b.load(gradients, {thread, i});
      Value column = b.add(firstColumn(b, buffers.dbias, row.head, scores.heads),
                           scores.biasPlace(distance).first);
      addTo(b, buffers.dbias, row.query, column, ds);
    });
  });
}
