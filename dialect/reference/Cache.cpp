//===- Cache.cpp - keys and values of earlier calls -----------------------===//
//
// Here a page holds its P keys one after the other, then its P values.
//
//===----------------------------------------------------------------------===//
#include "dialect/reference/Operations.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::reference;

namespace {

/// Where the positions of sequences are.
struct Pages {
  const Tensor &table, &lengths;
  int64_t size; // positions of a page

  /// The row of a key among all rows of the cache; its value is `size` rows on.
  int64_t rowOf(int64_t sequence, int64_t position) const {
    int64_t columns = table.shape[1];
    int64_t page = table.integers()[sequence * columns + position / size];
    return page * 2 * size + position % size;
  }
  int64_t lengthOf(int64_t sequence) const { return lengths.integers()[sequence]; }
};

/// Fails where a table, its lengths and the new rows do not go together.
LogicalResult checkPages(Operation *op, Frame &frame, const Pages &pages, const Tensor &cache,
                         const Sequences &sequences, bool holdsRows) {
  int64_t batch = sequences.batch;
  if (pages.table.shape[0] != batch || pages.lengths.shape[0] != batch)
    return frame.fail(op, "sequences hold a batch of " + Twine(batch) + ", but the table " +
                              shapeText(pages.table.shape) + " and the lengths " +
                              shapeText(pages.lengths.shape));
  for (int64_t b = 0; b < batch; ++b) {
    int64_t rows = sequences.offsets[b + 1] - sequences.offsets[b], length = pages.lengthOf(b);
    if (length < (holdsRows ? rows : 0) || length > pages.table.shape[1] * pages.size)
      return frame.fail(op, "sequence " + Twine(b) + " has a length of " + Twine(length) +
                                ", but " + Twine(rows) + " rows and " +
                                Twine(pages.table.shape[1]) + " pages");
    for (int64_t p = 0; p < length; p += pages.size)
      if (int64_t row = pages.rowOf(b, p); row < 0 || row >= cache.shape[0] * cache.shape[1])
        return frame.fail(op, "sequence " + Twine(b) + " has page " + Twine(row / cache.shape[1]) +
                                  ", but the cache has " + Twine(cache.shape[0]));
  }
  return success();
}

} // namespace

LogicalResult reference::evaluate(AppendPagesOp op, Frame &frame) {
  const Tensor &k = frame.tensor(op.getK()), &v = frame.tensor(op.getV());
  const Sequences &sequences = frame.sequences(op.getSequences());
  Tensor cache = frame.tensor(op.getCache());
  Pages pages{frame.tensor(op.getTable()), frame.tensor(op.getLengths()), cache.shape[1] / 2};
  if (failed(checkRows(op, frame, "k", k, sequences)) ||
      failed(checkRows(op, frame, "v", v, sequences)) ||
      failed(checkPages(op, frame, pages, cache, sequences, /*holdsRows=*/true)))
    return failure();
  int64_t width = k.shape[1];
  for (int64_t b = 0; b < sequences.batch; ++b)
    for (int64_t row = sequences.offsets[b], end = sequences.offsets[b + 1]; row < end; ++row) {
      int64_t to = pages.rowOf(b, pages.lengthOf(b) - (end - row));
      std::copy_n(k.row(row), width, &cache.reals()[to * width]);
      std::copy_n(v.row(row), width, &cache.reals()[(to + pages.size) * width]);
    }
  frame.set(op.getResult(), std::move(cache));
  return success();
}

LogicalResult reference::evaluate(PagedAttentionOp op, Frame &frame) {
  const Tensor &q = frame.tensor(op.getQ()), &cache = frame.tensor(op.getCache());
  const Sequences &queries = frame.sequences(op.getSequences());
  Pages pages{frame.tensor(op.getTable()), frame.tensor(op.getLengths()), cache.shape[1] / 2};
  if (failed(checkRows(op, frame, "q", q, queries)) ||
      failed(checkPages(op, frame, pages, cache, queries, /*holdsRows=*/false)))
    return failure();
  Sequences keys;
  keys.batch = queries.batch;
  keys.offsets.push_back(0);
  for (int64_t b = 0; b < keys.batch; ++b)
    keys.offsets.push_back(keys.offsets.back() + pages.lengthOf(b));
  double scale = op.getScale().convertToDouble();
  if (op.getScaleFactor())
    scale *= frame.tensor(op.getScaleFactor()).reals()[0];
  int64_t width = cache.shape[2];
  Tensor k = Tensor::zeros({keys.offsets.back(), width}), v = k;
  for (int64_t b = 0; b < keys.batch; ++b)
    for (int64_t p = 0; p < pages.lengthOf(b); ++p) {
      int64_t from = pages.rowOf(b, p), to = keys.offsets[b] + p;
      std::copy_n(&cache.reals()[from * width], width, k.row(to));
      std::copy_n(&cache.reals()[(from + pages.size) * width], width, v.row(to));
    }
  frame.set(op.getResult(), attention(q, k, v, queries, keys,
                                      {static_cast<int64_t>(op.getNumHeads()),
                                       static_cast<int64_t>(op.getNumKvHeads()), scale,
                                       op.getOptions(), frame.optional(op.getPositionBias())}));
  return success();
}
