//===- CompositeOps.cpp - blocks, nice to write by hand -------------------===//
#include "dialect/TransformerDialect.h"

using namespace mlir;
using namespace mlir::transformer;

static LogicalResult verifyCount(Operation *op, StringRef what, size_t found, size_t expected) {
  if (found == expected)
    return success();
  return op->emitOpError() << "expected " << expected << " tensors in " << what << ", found "
                           << found;
}

static Value biasAt(OperandRange biases, unsigned i) {
  return biases.empty() ? Value() : biases[i];
}

namespace {
/// The weights q, k, v and output projection, and their biases (each may be null).
struct Projections {
  Value weights[4], biases[4];
  WeightLayout layout = WeightLayout::OutIn;
};
} // namespace

/// Verifies multi-head attention of rows of width `x` to rows of width
/// `memory`; gives the width of the result.
static LogicalResult verifyProjections(Operation *op, int64_t x, int64_t memory,
                                       const Projections &p, int64_t numHeads, int64_t numKvHeads,
                                       int64_t &result) {
  int64_t q, k, v;
  if (failed(verifyLinear(op, "query weight", x, p.weights[0], p.biases[0], p.layout, q)) ||
      failed(verifyLinear(op, "key weight", memory, p.weights[1], p.biases[1], p.layout, k)) ||
      failed(verifyLinear(op, "value weight", memory, p.weights[2], p.biases[2], p.layout, v)) ||
      failed(verifyLinear(op, "output weight", q, p.weights[3], p.biases[3], p.layout, result)))
    return failure();
  if (numHeads < 1 || q % numHeads)
    return op->emitOpError() << "expected num_heads that divides the width " << q << ", found "
                             << numHeads;
  if (numKvHeads < 1 || numHeads % numKvHeads)
    return op->emitOpError() << "expected num_kv_heads that divides num_heads = " << numHeads
                             << ", found " << numKvHeads;
  int64_t kvWidth = q / numHeads * numKvHeads;
  if (k != kvWidth || v != kvWidth)
    return op->emitOpError() << "expected key and value projections of width " << kvWidth
                             << " beside queries of width " << q << ", found " << k << " and " << v;
  return success();
}

LogicalResult MultiHeadAttentionOp::verify() {
  if (failed(verifyCount(*this, "weights", getWeights().size(), 4)))
    return failure();
  if (!getBiases().empty() && failed(verifyCount(*this, "biases", getBiases().size(), 4)))
    return failure();
  if (static_cast<bool>(getMemory()) != static_cast<bool>(getMemorySequences()))
    return emitOpError() << "memory and memory_sequences stand together";
  Projections projections;
  projections.layout = getLayout();
  for (unsigned i = 0; i < 4; ++i) {
    projections.weights[i] = getWeights()[i];
    projections.biases[i] = biasAt(getBiases(), i);
  }
  int64_t width = widthOf(getX()), memory = getMemory() ? widthOf(getMemory()) : width, out;
  if (failed(verifyProjections(*this, width, memory, projections, getNumHeads(),
                               getNumKvHeads().value_or(getNumHeads()), out)) ||
      failed(verifyPositionBias(*this, getPositionBias(), getNumHeads())))
    return failure();
  return verifyWidth(*this, "a result", getResult(), out);
}

LogicalResult FeedForwardOp::verify() {
  size_t count = getWeights().size();
  if (count != 2 && count != 3)
    return emitOpError() << "expected 2 weights (up, down) or 3 (gate, up, down), found " << count;
  if (!getBiases().empty() && failed(verifyCount(*this, "biases", getBiases().size(), count)))
    return failure();
  int64_t width = widthOf(getX()), up, gate, down;
  unsigned first = count - 2;
  if (failed(verifyLinear(*this, "up weight", width, getWeights()[first],
                          biasAt(getBiases(), first), getLayout(), up)))
    return failure();
  if (first) {
    if (failed(verifyLinear(*this, "gate weight", width, getWeights()[0], biasAt(getBiases(), 0),
                            getLayout(), gate)))
      return failure();
    if (gate != up)
      return emitOpError() << "expected gate and up weights of one width, found " << gate << " and "
                           << up;
  }
  if (failed(verifyLinear(*this, "down weight", up, getWeights()[first + 1],
                          biasAt(getBiases(), first + 1), getLayout(), down)))
    return failure();
  return verifyWidth(*this, "a result", getResult(), down);
}

/// Verifies that a layer's weights are matrices and its biases vectors:
/// weight, bias, weight, bias, ...
static LogicalResult verifyGroup(Operation *op, StringRef what, OperandRange group, size_t count) {
  if (failed(verifyCount(op, what, group.size(), count)))
    return failure();
  for (auto [i, tensor] : llvm::enumerate(group))
    if (int64_t rank = cast<RankedTensorType>(tensor.getType()).getRank(), expected = 2 - i % 2;
        rank != expected)
      return op->emitOpError() << "expected tensor " << i << " of " << what << " of rank "
                               << expected << ", found " << tensor.getType();
  return success();
}

/// Verifies one attention of a layer whose rows and memory have one width.
static LogicalResult verifyAttention(Operation *op, StringRef what, OperandRange group,
                                     int64_t width, int64_t numHeads) {
  if (failed(verifyGroup(op, what, group, 8)))
    return failure();
  Projections projections;
  for (unsigned i = 0; i < 4; ++i) {
    projections.weights[i] = group[2 * i];
    projections.biases[i] = group[2 * i + 1];
  }
  int64_t out;
  if (failed(verifyProjections(op, width, width, projections, numHeads, numHeads, out)))
    return failure();
  return verifyWidth(op, what.str() + " output bias", projections.biases[3], width);
}

static LogicalResult verifyFfn(Operation *op, OperandRange group, int64_t width) {
  int64_t hidden, out;
  if (failed(verifyGroup(op, "ffn", group, 4)) ||
      failed(
          verifyLinear(op, "up weight", width, group[0], group[1], WeightLayout::OutIn, hidden)) ||
      failed(verifyLinear(op, "down weight", hidden, group[2], group[3], WeightLayout::OutIn, out)))
    return failure();
  return verifyWidth(op, "ffn output bias", group[3], width);
}

/// Verifies what encoder and decoder layers share: norms and result.
template <typename OpTy> static LogicalResult verifyNorms(OpTy op, size_t count) {
  int64_t width = widthOf(op.getX());
  if (failed(verifyCount(op, "norms", op.getNorms().size(), count)))
    return failure();
  for (size_t i = 0; i < count; i += 2)
    if (failed(verifyNorm(op, width, op.getNorms()[i], op.getNorms()[i + 1], op.getNorm())))
      return failure();
  return verifyWidth(op, "a result", op.getResult(), width);
}

LogicalResult EncoderLayerOp::verify() {
  int64_t width = widthOf(getX());
  if (failed(verifyAttention(*this, "attention", getAttention(), width, getNumHeads())) ||
      failed(verifyFfn(*this, getFfn(), width)))
    return failure();
  return verifyNorms(*this, 4);
}

LogicalResult DecoderLayerOp::verify() {
  int64_t width = widthOf(getX());
  if (failed(verifyWidth(*this, "memory", getMemory(), width)) ||
      failed(verifyAttention(*this, "self_attention", getSelfAttention(), width, getNumHeads())) ||
      failed(
          verifyAttention(*this, "cross_attention", getCrossAttention(), width, getNumHeads())) ||
      failed(verifyFfn(*this, getFfn(), width)))
    return failure();
  return verifyNorms(*this, 6);
}
