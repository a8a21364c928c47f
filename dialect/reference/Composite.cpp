//===- Composite.cpp - blocks, evaluated from their definitions -----------===//
//
// Not by expansion into core ops: the expansion pass is tested against this.
//
//===----------------------------------------------------------------------===//
#include "dialect/reference/Operations.h"
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::reference;

namespace {

using Function = llvm::function_ref<Tensor(const Tensor &)>;

/// Weight and bias (may be null) of a linear layer.
struct Linear {
  const Tensor &weight;
  const Tensor *bias;
  WeightLayout layout;

  Tensor operator()(const Tensor &x) const { return linear(x, weight, bias, layout); }
};

/// Query, key, value and output projections.
struct Projections {
  Linear q, k, v, out;
};

/// Attention of rows (queries) to memory (keys and values).
struct MultiHead {
  Projections project;
  int64_t numHeads, numKvHeads;
  AttentionOptionsAttr options;
  std::optional<double> scale = std::nullopt; // default 1/sqrt(head_dim)
  double scaleFactor = 1;
  const Tensor *bias = nullptr;

  Tensor operator()(const Tensor &x, const Sequences &queries, const Tensor &memory,
                    const Sequences &keys) const {
    Tensor q = project.q(x), k = project.k(memory), v = project.v(memory);
    double headDim = q.shape[1] / numHeads;
    double factor = scale.value_or(1 / std::sqrt(headDim)) * scaleFactor;
    return project.out(
        attention(q, k, v, queries, keys, {numHeads, numKvHeads, factor, options, bias}));
  }
};

/// down(activation(up(x)))
struct FeedForward {
  ActivationKind activation;
  Linear up, down;

  Tensor operator()(const Tensor &x) const { return down(activate(activation, up(x))); }
};

} // namespace

/// Layer i of a list weight, bias, weight, bias, ...
static Linear linearAt(Frame &frame, OperandRange group, unsigned i) {
  return {frame.tensor(group[2 * i]), &frame.tensor(group[2 * i + 1]), WeightLayout::OutIn};
}

static Projections projections(Frame &frame, OperandRange group) {
  return {linearAt(frame, group, 0), linearAt(frame, group, 1), linearAt(frame, group, 2),
          linearAt(frame, group, 3)};
}

/// Post-norm: norm(x + f(x)). Pre-norm: x + f(norm(x)).
static Tensor sublayer(const Tensor &x, bool normFirst, Function norm, Function f) {
  return normFirst ? add(x, f(norm(x))) : norm(add(x, f(x)));
}

/// The i-th pair (gamma, beta) of a layer's norms applied to x.
template <typename OpTy>
static Tensor applyNorm(OpTy op, Frame &frame, unsigned i, const Tensor &x) {
  return layerNorm(x, frame.tensor(op.getNorms()[2 * i]), frame.tensor(op.getNorms()[2 * i + 1]),
                   op.getNorm());
}

LogicalResult reference::evaluate(MultiHeadAttentionOp op, Frame &frame) {
  const Tensor &x = frame.tensor(op.getX());
  const Sequences &queries = frame.sequences(op.getSequences());
  bool cross = static_cast<bool>(op.getMemory());
  const Tensor &memory = cross ? frame.tensor(op.getMemory()) : x;
  const Sequences &keys = cross ? frame.sequences(op.getMemorySequences()) : queries;
  if (failed(checkRows(op, frame, "x", x, queries)) ||
      failed(checkRows(op, frame, "memory", memory, keys)) ||
      failed(checkBatch(op, frame, queries, keys)))
    return failure();
  auto layer = [&](unsigned i) -> Linear {
    Value bias = op.getBiases().empty() ? Value() : op.getBiases()[i];
    return {frame.tensor(op.getWeights()[i]), frame.optional(bias), op.getLayout()};
  };
  int64_t heads = op.getNumHeads();
  MultiHead attend{{layer(0), layer(1), layer(2), layer(3)},
                   heads,
                   static_cast<int64_t>(op.getNumKvHeads().value_or(heads)),
                   op.getOptions()};
  attend.bias = frame.optional(op.getPositionBias());
  if (op.getScale())
    attend.scale = op.getScale()->convertToDouble();
  if (op.getScaleFactor())
    attend.scaleFactor = frame.tensor(op.getScaleFactor()).reals()[0];
  frame.set(op.getResult(), attend(x, queries, memory, keys));
  return success();
}

LogicalResult reference::evaluate(FeedForwardOp op, Frame &frame) {
  const Tensor &x = frame.tensor(op.getX());
  auto layer = [&](unsigned i) -> Linear {
    Value bias = op.getBiases().empty() ? Value() : op.getBiases()[i];
    return {frame.tensor(op.getWeights()[i]), frame.optional(bias), op.getLayout()};
  };
  if (op.getWeights().size() == 2) {
    frame.set(op.getResult(), FeedForward{op.getActivation(), layer(0), layer(1)}(x));
    return success();
  }
  Tensor hidden = activate(op.getActivation(), layer(0)(x)), up = layer(1)(x);
  for (auto [h, u] : llvm::zip_equal(hidden.reals(), up.reals()))
    h *= u;
  frame.set(op.getResult(), layer(2)(hidden));
  return success();
}

LogicalResult reference::evaluate(EncoderLayerOp op, Frame &frame) {
  const Tensor &x = frame.tensor(op.getX());
  const Sequences &sequences = frame.sequences(op.getSequences());
  if (failed(checkRows(op, frame, "x", x, sequences)))
    return failure();
  int64_t heads = op.getNumHeads();
  MultiHead attend{projections(frame, op.getAttention()), heads, heads, op.getOptions()};
  FeedForward ffn{op.getActivation(), linearAt(frame, op.getFfn(), 0),
                  linearAt(frame, op.getFfn(), 1)};
  Tensor h = sublayer(
      x, op.getNormFirst(), [&](const Tensor &r) { return applyNorm(op, frame, 0, r); },
      [&](const Tensor &r) { return attend(r, sequences, r, sequences); });
  frame.set(op.getResult(), sublayer(
                                h, op.getNormFirst(),
                                [&](const Tensor &r) { return applyNorm(op, frame, 1, r); }, ffn));
  return success();
}

LogicalResult reference::evaluate(DecoderLayerOp op, Frame &frame) {
  const Tensor &x = frame.tensor(op.getX()), &memory = frame.tensor(op.getMemory());
  const Sequences &sequences = frame.sequences(op.getSequences());
  const Sequences &keys = frame.sequences(op.getMemorySequences());
  if (failed(checkRows(op, frame, "x", x, sequences)) ||
      failed(checkRows(op, frame, "memory", memory, keys)) ||
      failed(checkBatch(op, frame, sequences, keys)))
    return failure();
  int64_t heads = op.getNumHeads();
  MLIRContext *context = op.getContext();
  MultiHead self{projections(frame, op.getSelfAttention()), heads, heads,
                 AttentionOptionsAttr::get(context, /*causal=*/true)};
  MultiHead cross{projections(frame, op.getCrossAttention()), heads, heads,
                  AttentionOptionsAttr::get(context)};
  FeedForward ffn{op.getActivation(), linearAt(frame, op.getFfn(), 0),
                  linearAt(frame, op.getFfn(), 1)};
  Tensor h = sublayer(
      x, op.getNormFirst(), [&](const Tensor &r) { return applyNorm(op, frame, 0, r); },
      [&](const Tensor &r) { return self(r, sequences, r, sequences); });
  Tensor g = sublayer(
      h, op.getNormFirst(), [&](const Tensor &r) { return applyNorm(op, frame, 1, r); },
      [&](const Tensor &r) { return cross(r, sequences, memory, keys); });
  frame.set(op.getResult(), sublayer(
                                g, op.getNormFirst(),
                                [&](const Tensor &r) { return applyNorm(op, frame, 2, r); }, ffn));
  return success();
}
