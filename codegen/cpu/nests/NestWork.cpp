//===- NestWork.cpp - what the nests' loops do, for profiles --------------===//
#include "codegen/cpu/nests/NestWork.h"

using namespace mlir;
using namespace mlir::transformer;

Work transformer::rowWork(StringRef label, StringRef amount, int64_t width, int64_t rows,
                          Value parameter) {
  std::string text = std::to_string(width);
  Work work{
      (label + " " + text).str(), "width=" + text, {{amount.str(), 0, rows * rowBytes(width)}}};
  if (parameter)
    work.layer = layerOfParameter(parameter);
  return work;
}

/// 1 + 2 + ... + n, of which none is more than `most`.
static Value sumUpTo(Emit &b, Value n, int64_t most) {
  Value low = b.min(n, b.index(most));
  Value triangle = b.div(b.mul(low, b.add(low, 1)), 2);
  return b.add(triangle, b.mul(b.sub(n, low), b.index(most)));
}

/// The sum over sequences of queries * keys; when causal, the last query sees
/// all keys, each one before it one less; with a window no more than it holds.
static Value countPairs(Emit &b, const AttentionSizes &sizes) {
  Value zero = b.index(0), batch = b.sub(b.dim(sizes.queryOffsets, 0), b.index(1));
  auto rows = [&](Value offsets, Value sequence) {
    return b.sub(b.load(offsets, b.add(sequence, 1)), b.load(offsets, sequence));
  };
  Values total = b.loop(zero, batch, 1, zero, [&](Value sequence, ValueRange sum) {
    Value queries = rows(sizes.queryOffsets, sequence);
    Value keys = rows(sizes.keyOffsets, sequence);
    if (sizes.cross && (sizes.causal || sizes.window)) // those before the first key see none
      queries = b.min(queries, keys);
    Value pairs;
    if (int64_t window = sizes.window) {
      pairs = b.sub(sumUpTo(b, keys, window), sumUpTo(b, b.sub(keys, queries), window));
      if (!sizes.causal) // and as many keys behind it
        pairs = b.sub(b.add(pairs, sumUpTo(b, queries, window - 1)),
                      b.min(queries, b.index(window - 1)));
    } else {
      pairs = b.mul(queries, keys);
      if (sizes.causal)
        pairs = b.sub(pairs, b.div(b.mul(queries, b.sub(queries, b.index(1))), 2));
    }
    return Values{b.add(sum[0], pairs)};
  });
  return total.front();
}

std::pair<Work, Values> transformer::attentionWork(Emit &b, const AttentionSizes &sizes) {
  std::string heads = std::to_string(sizes.heads), dim = std::to_string(sizes.headDim);
  int64_t row = rowBytes(sizes.heads * sizes.headDim);
  int64_t keyBytes = 2 * rowBytes(sizes.kvHeads * sizes.headDim);
  Work work{"attention " + heads + "x" + dim, "heads=" + heads + " head_dim=" + dim, {}};
  if (sizes.kvHeads != sizes.heads)
    work.sizes += " kv_heads=" + std::to_string(sizes.kvHeads);
  if (sizes.causal)
    work.sizes += " causal";
  if (sizes.window)
    work.sizes += " window=" + std::to_string(sizes.window);
  auto last = [&](Value offsets) { return b.load(offsets, b.sub(b.dim(offsets, 0), b.index(1))); };
  Values amounts;
  auto add = [&](Amount amount, Value value) {
    work.amounts.push_back(std::move(amount));
    amounts.push_back(value);
  };
  Value sequences = b.sub(b.dim(sizes.queryOffsets, 0), b.index(1));
  add({"sequences"}, sequences);
  add({"tokens", 0, 2 * row + (sizes.cross ? 0 : keyBytes)}, last(sizes.queryOffsets));
  if (sizes.cross)
    add({"keys", 0, keyBytes}, last(sizes.keyOffsets));
  add({"pairs", 4 * sizes.heads * sizes.headDim, 0}, countPairs(b, sizes));
  return {work, amounts};
}

std::pair<Work, Values> transformer::pagedAttentionWork(Emit &b, const PagedAttentionSizes &sizes) {
  std::string heads = std::to_string(sizes.heads), dim = std::to_string(sizes.headDim);
  int64_t width = sizes.heads * sizes.headDim;
  Work work{"paged_attention " + heads + "x" + dim,
            "heads=" + heads + " head_dim=" + dim,
            {{"sequences"}, {"tokens", 0, 2 * rowBytes(width)}, {"pairs", 4 * width, 0}}};
  Value batch = b.sub(b.dim(sizes.queryOffsets, 0), b.index(1)), zero = b.index(0);
  // Masks are not looked at: a new token counts all positions of its sequence.
  Values pairs = b.loop(zero, batch, 1, zero, [&](Value sequence, ValueRange sum) {
    Value length = arith::IndexCastOp::create(b, b.getIndexType(), b.load(sizes.lengths, sequence));
    Value rows =
        b.sub(b.load(sizes.queryOffsets, b.add(sequence, 1)), b.load(sizes.queryOffsets, sequence));
    return Values{b.add(sum[0], b.mul(rows, length))};
  });
  return {work, {batch, b.load(sizes.queryOffsets, batch), pairs.front()}};
}
