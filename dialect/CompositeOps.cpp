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

static Value biasAt(OperandRange biases, unsigned i) { return biases.empty() ? Value() : biases[i]; }

LogicalResult MultiHeadAttentionOp::verify() {
  if (failed(verifyCount(*this, "weights", getWeights().size(), 4)))
    return failure();
  if (!getBiases().empty() && failed(verifyCount(*this, "biases", getBiases().size(), 4)))
    return failure();
  int64_t width = widthOf(getX()), memory = getMemory() ? widthOf(getMemory()) : width;
  int64_t q, k, v, out;
  if (failed(verifyLinear(*this, "query weight", width, getWeights()[0], biasAt(getBiases(), 0),
                          getLayout(), q)) ||
      failed(verifyLinear(*this, "key weight", memory, getWeights()[1], biasAt(getBiases(), 1),
                          getLayout(), k)) ||
      failed(verifyLinear(*this, "value weight", memory, getWeights()[2], biasAt(getBiases(), 2),
                          getLayout(), v)) ||
      failed(verifyLinear(*this, "output weight", q, getWeights()[3], biasAt(getBiases(), 3),
                          getLayout(), out)))
    return failure();
  if (k != q || v != q)
    return emitOpError() << "expected query, key and value projections of one width, found " << q
                         << ", " << k << " and " << v;
  if (getNumHeads() < 1 || q % getNumHeads())
    return emitOpError() << "expected num_heads that divides the width " << q << ", found "
                         << getNumHeads();
  if (getCausal() && getMemory())
    return emitOpError() << "causal attention takes no memory";
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

LogicalResult EncoderLayerOp::verify() {
  if (failed(verifyCount(*this, "attention", getAttention().size(), 8)) ||
      failed(verifyCount(*this, "ffn", getFfn().size(), 4)) ||
      failed(verifyCount(*this, "norms", getNorms().size(), 4)))
    return failure();
  return verifyWidth(*this, "a result", getResult(), widthOf(getX()));
}

LogicalResult DecoderLayerOp::verify() {
  if (failed(verifyCount(*this, "self_attention", getSelfAttention().size(), 8)) ||
      failed(verifyCount(*this, "cross_attention", getCrossAttention().size(), 8)) ||
      failed(verifyCount(*this, "ffn", getFfn().size(), 4)) ||
      failed(verifyCount(*this, "norms", getNorms().size(), 6)))
    return failure();
  return verifyWidth(*this, "a result", getResult(), widthOf(getX()));
}
