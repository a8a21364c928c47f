//===- Attention.cpp - attention on packed rows ---------------------------===//
#include "dialect/reference/Operations.h"
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::reference;

/// One head of one query: softmax(scale * q k^T) v over the keys `first` to
/// `last - 1`. `q` and `out` point to the head's columns, `column` is where
/// the head starts in k and v.
static void attend(const double *q, const Tensor &k, const Tensor &v, int64_t column,
                   int64_t headDim, int64_t first, int64_t last, double scale, double *out) {
  std::vector<double> scores;
  for (int64_t key = first; key < last; ++key) {
    double dot = 0;
    for (int64_t d = 0; d < headDim; ++d)
      dot += q[d] * k.row(key)[column + d];
    scores.push_back(scale * dot);
  }
  if (scores.empty())
    return; // a query without any key gives zeros
  double max = *llvm::max_element(scores), sum = 0;
  for (double &score : scores)
    sum += score = std::exp(score - max);
  for (int64_t key = first; key < last; ++key)
    for (int64_t d = 0; d < headDim; ++d)
      out[d] += scores[key - first] / sum * v.row(key)[column + d];
}

Tensor reference::attention(const Tensor &q, const Tensor &k, const Tensor &v,
                            const Sequences &queries, const Sequences &keys,
                            AttentionOptions options) {
  int64_t headDim = q.shape[1] / options.numHeads;
  int64_t group = options.numHeads / options.numKvHeads; // query heads that share a key head
  Tensor result = Tensor::zeros(q.shape);
  for (int64_t b = 0; b < queries.batch; ++b)
    for (int64_t i = queries.offsets[b]; i < queries.offsets[b + 1]; ++i) {
      int64_t first = keys.offsets[b], last = keys.offsets[b + 1];
      if (options.causal)
        last = first + (i - queries.offsets[b]) + 1;
      for (int64_t h = 0; h < options.numHeads; ++h)
        attend(q.row(i) + h * headDim, k, v, h / group * headDim, headDim, first, last,
               options.scale, result.row(i) + h * headDim);
    }
  return result;
}

LogicalResult reference::evaluate(AttentionOp op, Frame &frame) {
  const Tensor &q = frame.tensor(op.getQ()), &k = frame.tensor(op.getK()),
               &v = frame.tensor(op.getV());
  const Sequences &queries = frame.sequences(op.getSequences());
  const Sequences &keys = frame.sequences(op.keySequences());
  if (failed(checkRows(op, frame, "q", q, queries)) || failed(checkRows(op, frame, "k", k, keys)) ||
      failed(checkRows(op, frame, "v", v, keys)) || failed(checkBatch(op, frame, queries, keys)))
    return failure();
  double scale = op.getScale().convertToDouble();
  if (op.getScaleFactor())
    scale *= frame.tensor(op.getScaleFactor()).reals()[0];
  int64_t heads = op.getNumHeads();
  frame.set(op.getResult(),
            attention(q, k, v, queries, keys, {heads, op.kvHeads(), scale, op.getCausal()}));
  return success();
}
