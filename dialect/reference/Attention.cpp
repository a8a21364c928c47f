//===- Attention.cpp - attention on packed rows ---------------------------===//
#include "dialect/reference/Operations.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::reference;

/// The keys `first .. last - 1` that a query at `position` sees of `count`.
static std::pair<int64_t, int64_t> visibleKeys(AttentionOptionsAttr options, int64_t position,
                                               int64_t count) {
  int64_t first = 0, last = options.getCausal() ? position + 1 : count;
  if (int64_t window = options.getWindow()) {
    first = std::max<int64_t>(0, position - window + 1);
    last = std::min(last, position + window);
  }
  return {first, std::clamp<int64_t>(last, 0, count)};
}

/// What is added to the score of a key at this distance from the query.
static double biasOf(const Tensor *bias, int64_t head, int64_t distance) {
  if (!bias)
    return 0;
  if (bias->rank() == 1)
    return -bias->reals()[head] * std::abs(distance);
  int64_t columns = bias->shape[1];
  return bias->row(head)[std::clamp<int64_t>(distance + (columns - 1) / 2, 0, columns - 1)];
}

/// What the contents of a query and a key say about their distance; `head` and
/// `kvHead` are theirs.
static double relativeScore(const AttentionInputs &inputs, int64_t query, int64_t head, int64_t key,
                            int64_t kvHead, int64_t distance) {
  int64_t count = inputs.columns.size();
  if (count == 0)
    return 0;
  int64_t column = inputs.columns[std::clamp<int64_t>(distance + (count - 1) / 2, 0, count - 1)];
  auto at = [&](const Tensor *scores, int64_t row, int64_t of, int64_t heads) {
    return scores ? scores->row(row)[of * (scores->shape[1] / heads) + column] : 0.0;
  };
  return at(inputs.queryScores, query, head, inputs.numHeads) +
         at(inputs.keyScores, key, kvHead, inputs.numKvHeads);
}

/// One head of one query: softmax of `scores`, each times its factor, times v, in
/// `count` columns. v and out point to the head's columns; consecutive keys are
/// `stride` apart. Returns the logarithm of the sum.
static double attend(std::vector<double> scores, function_ref<double(int64_t)> factorOf,
                     FloatType rounding, const double *v, int64_t stride, int64_t count,
                     double *out) {
  if (scores.empty())
    return -std::numeric_limits<double>::infinity(); // a query without any key gives zeros
  double max = *llvm::max_element(scores), sum = 0;
  // A power of 2 instead of the highest changes no rounding.
  double shift = rounding ? std::floor(max / std::log(2.0)) * std::log(2.0) : max;
  for (double &score : scores)
    sum += score = std::exp(score - shift);
  for (auto [key, score] : llvm::enumerate(scores)) {
    double weight = factorOf(key) * score;
    // Of any exponent: which highest score a weight is made with does not matter.
    if (rounding)
      weight = roundTo(rounding.getFloatSemantics(), weight, /*anyExponent=*/true);
    double probability = weight / sum;
    for (int64_t d = 0; d < count; ++d)
      out[d] += probability * v[key * stride + d];
  }
  return shift + std::log(sum);
}

Tensor reference::attention(const Tensor &q, const Tensor &k, const Tensor &v,
                            const Sequences &queries, const Sequences &keys,
                            const AttentionInputs &inputs, Tensor *logSumExp) {
  int64_t heads = inputs.numHeads, headDim = q.shape[1] / heads;
  int64_t group = heads / inputs.numKvHeads; // query heads that share a key head
  Tensor result = Tensor::zeros(q.shape);
  DropoutFactors dropout(inputs.dropoutKey, inputs.options.getDropout().convertToDouble());
  if (logSumExp)
    *logSumExp = Tensor::zeros({q.shape[0], heads});
  for (int64_t b = 0; b < queries.batch; ++b) {
    int64_t firstKey = keys.offsets[b], count = keys.offsets[b + 1] - firstKey;
    for (int64_t row = queries.offsets[b]; row < queries.offsets[b + 1]; ++row) {
      int64_t position = count - (queries.offsets[b + 1] - row); // from the end of the keys
      auto [first, last] = visibleKeys(inputs.options, position, count);
      for (int64_t h = 0; h < heads; ++h) {
        int64_t column = h * headDim, kvColumn = h / group * headDim;
        std::vector<double> scores;
        for (int64_t key = first; key < last; ++key) {
          double dot = 0;
          for (int64_t d = 0; d < headDim; ++d)
            dot += q.row(row)[column + d] * k.row(firstKey + key)[kvColumn + d];
          dot += relativeScore(inputs, row, h, firstKey + key, h / group, key - position);
          scores.push_back(inputs.scale * dot + biasOf(inputs.bias, h, key - position));
        }
        auto factorOf = [&, first = first](int64_t key) {
          return dropout.at(row, first + key, h + 1);
        };
        double logarithm = attend(std::move(scores), factorOf, inputs.options.getRounding(),
                                  v.row(firstKey + first) + kvColumn, v.shape[1], headDim,
                                  result.row(row) + column);
        if (logSumExp)
          logSumExp->row(row)[h] = logarithm;
      }
    }
  }
  return result;
}

LogicalResult reference::evaluate(RelativeScoresOp op, Frame &frame) {
  const Tensor &x = frame.tensor(op.getX()), &table = frame.tensor(op.getTable());
  int64_t heads = op.getNumHeads(), headDim = x.shape[1] / heads, positions = table.shape[0];
  Tensor result = Tensor::zeros({x.shape[0], heads * positions});
  for (int64_t t = 0; t < x.shape[0]; ++t)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t p = 0; p < positions; ++p)
        for (int64_t d = h * headDim; d < (h + 1) * headDim; ++d)
          result.row(t)[h * positions + p] += x.row(t)[d] * table.row(p)[d];
  frame.set(op.getResult(), std::move(result));
  return success();
}

LogicalResult reference::evaluate(AttentionOp op, Frame &frame) {
  const Tensor &q = frame.tensor(op.getQ()), &k = frame.tensor(op.getK()),
               &v = frame.tensor(op.getV());
  const Sequences &queries = frame.sequences(op.getQuerySequences());
  const Sequences &keys = frame.sequences(op.getKeySequences());
  if (failed(checkRows(op, frame, "q", q, queries)) || failed(checkRows(op, frame, "k", k, keys)) ||
      failed(checkRows(op, frame, "v", v, keys)) || failed(checkBatch(op, frame, queries, keys)))
    return failure();
  AttentionInputs inputs = {static_cast<int64_t>(op.getNumHeads()), op.kvHeads(),
                            op.getScale().convertToDouble(), op.getOptions(),
                            frame.optional(op.getPositionBias())};
  inputs.queryScores = frame.optional(op.getQueryScores());
  inputs.keyScores = frame.optional(op.getKeyScores());
  inputs.columns = op.getColumns().value_or(ArrayRef<int32_t>());
  inputs.dropoutKey = frame.optional(op.getDropoutKey());
  if ((inputs.queryScores &&
       failed(checkRows(op, frame, "query_scores", *inputs.queryScores, queries))) ||
      (inputs.keyScores && failed(checkRows(op, frame, "key_scores", *inputs.keyScores, keys))))
    return failure();
  if (op.getScaleFactor())
    inputs.scale *= frame.tensor(op.getScaleFactor()).reals()[0];
  Tensor logSumExp;
  frame.set(op.getResult(),
            attention(q, k, v, queries, keys, inputs, op.getLogSumExp() ? &logSumExp : nullptr));
  if (op.getLogSumExp())
    frame.set(op.getLogSumExp(), std::move(logSumExp));
  return success();
}

namespace {

/// The backward of attention, head by head.
class AttentionBackward {
public:
  AttentionBackward(AttentionGradientOp op, Frame &frame, const AttentionInputs &inputs)
      : inputs(inputs), dropout(inputs.dropoutKey, inputs.options.getDropout().convertToDouble()),
        q(frame.tensor(op.getQ())), k(frame.tensor(op.getK())), v(frame.tensor(op.getV())),
        y(frame.tensor(op.getResult())), dy(frame.tensor(op.getDresult())),
        logSumExp(frame.tensor(op.getLogSumExp())), width(q.shape[1] / inputs.numHeads) {
    auto zeros = [](const Tensor *like) { return like ? Tensor::zeros(like->shape) : Tensor(); };
    dq = zeros(&q), dk = zeros(&k), dv = zeros(&v), dbias = zeros(inputs.bias);
    dqueryScores = zeros(inputs.queryScores), dkeyScores = zeros(inputs.keyScores);
  }

  Tensor dq, dk, dv, dbias, dqueryScores, dkeyScores;

  /// Adds what one head of one query gives; `keys` are those that it sees, from its sequence's
  /// first row `firstKey` on.
  void add(int64_t row, int64_t head, int64_t firstKey, std::pair<int64_t, int64_t> keys,
           int64_t position) {
    int64_t kvHead = head / (inputs.numHeads / inputs.numKvHeads);
    int64_t column = head * width, kvColumn = kvHead * width;
    double delta = 0;
    for (int64_t d = column; d < column + width; ++d)
      delta += dy.row(row)[d] * y.row(row)[d];
    for (int64_t key = keys.first; key < keys.second; ++key) {
      int64_t at = firstKey + key, distance = key - position;
      double dot = relativeScore(inputs, row, head, at, kvHead, distance), dp = 0;
      for (int64_t d = 0; d < width; ++d) {
        dot += q.row(row)[column + d] * k.row(at)[kvColumn + d];
        dp += dy.row(row)[column + d] * v.row(at)[kvColumn + d];
      }
      double score = inputs.scale * dot + biasOf(inputs.bias, head, distance);
      double p = std::exp(score - logSumExp.row(row)[head]),
             factor = dropout.at(row, key, head + 1);
      double ds = p * (factor * dp - delta);
      FloatType type = inputs.options.getRounding();
      auto rounded = [&](double x) { return type ? roundTo(type.getFloatSemantics(), x) : x; };
      double weight = rounded(factor * p), scaled = inputs.scale * rounded(ds);
      for (int64_t d = 0; d < width; ++d) {
        dv.row(at)[kvColumn + d] += weight * dy.row(row)[column + d];
        dq.row(row)[column + d] += scaled * k.row(at)[kvColumn + d];
        dk.row(at)[kvColumn + d] += scaled * q.row(row)[column + d];
      }
      addToBias(head, distance, ds);
      addToScores(dqueryScores, inputs.queryScores, row, head, inputs.numHeads, distance, ds);
      addToScores(dkeyScores, inputs.keyScores, at, kvHead, inputs.numKvHeads, distance, ds);
    }
  }

private:
  void addToBias(int64_t head, int64_t distance, double ds) {
    if (!inputs.bias)
      return;
    if (dbias.rank() == 1) {
      dbias.reals()[head] -= ds * std::abs(distance);
      return;
    }
    int64_t columns = dbias.shape[1];
    dbias.row(head)[std::clamp<int64_t>(distance + (columns - 1) / 2, 0, columns - 1)] += ds;
  }

  void addToScores(Tensor &to, const Tensor *scores, int64_t row, int64_t head, int64_t heads,
                   int64_t distance, double ds) {
    if (!scores)
      return;
    int64_t count = inputs.columns.size();
    int64_t column = inputs.columns[std::clamp<int64_t>(distance + (count - 1) / 2, 0, count - 1)];
    to.row(row)[head * (to.shape[1] / heads) + column] += inputs.scale * ds;
  }

  const AttentionInputs &inputs;
  DropoutFactors dropout;
  const Tensor &q, &k, &v, &y, &dy, &logSumExp;
  int64_t width;
};

} // namespace

LogicalResult reference::evaluate(AttentionGradientOp op, Frame &frame) {
  const Sequences &queries = frame.sequences(op.getQuerySequences());
  const Sequences &keys = frame.sequences(op.getKeySequences());
  if (failed(checkRows(op, frame, "q", frame.tensor(op.getQ()), queries)) ||
      failed(checkRows(op, frame, "k", frame.tensor(op.getK()), keys)) ||
      failed(checkBatch(op, frame, queries, keys)))
    return failure();
  auto heads = static_cast<int64_t>(op.getNumHeads());
  AttentionInputs inputs = {heads, static_cast<int64_t>(op.getNumKvHeads().value_or(heads)),
                            op.getScale().convertToDouble(), op.getOptions(),
                            frame.optional(op.getPositionBias())};
  inputs.queryScores = frame.optional(op.getQueryScores());
  inputs.keyScores = frame.optional(op.getKeyScores());
  inputs.columns = op.getColumns().value_or(ArrayRef<int32_t>());
  inputs.dropoutKey = frame.optional(op.getDropoutKey());
  if (op.getScaleFactor())
    inputs.scale *= frame.tensor(op.getScaleFactor()).reals()[0];
  AttentionBackward backward(op, frame, inputs);
  for (int64_t b = 0; b < queries.batch; ++b) {
    int64_t firstKey = keys.offsets[b], count = keys.offsets[b + 1] - firstKey;
    for (int64_t row = queries.offsets[b]; row < queries.offsets[b + 1]; ++row) {
      int64_t position = count - (queries.offsets[b + 1] - row); // from the end of the keys
      for (int64_t h = 0; h < heads; ++h)
        backward.add(row, h, firstKey, visibleKeys(op.getOptions(), position, count), position);
    }
  }
  auto set = [&](Value value, Tensor &tensor) {
    if (value)
      frame.set(value, std::move(tensor));
  };
  set(op.getDq(), backward.dq), set(op.getDk(), backward.dk), set(op.getDv(), backward.dv);
  set(op.getDpositionBias(), backward.dbias);
  set(op.getDqueryScores(), backward.dqueryScores), set(op.getDkeyScores(), backward.dkeyScores);
  return success();
}
