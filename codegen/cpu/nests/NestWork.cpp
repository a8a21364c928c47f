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

/// The sum over sequences of queries * keys; when causal, the last query sees
/// all keys, each one before it one less.
static Value countPairs(Emit &b, const AttentionSizes &sizes) {
  Value zero = b.index(0), batch = b.sub(b.dim(sizes.queryOffsets, 0), b.index(1));
  auto rows = [&](Value offsets, Value sequence) {
    return b.sub(b.load(offsets, b.add(sequence, 1)), b.load(offsets, sequence));
  };
  Values total = b.loop(zero, batch, 1, zero, [&](Value sequence, ValueRange sum) {
    Value queries = rows(sizes.queryOffsets, sequence);
    Value pairs = b.mul(queries, rows(sizes.keyOffsets, sequence));
    if (sizes.causal)
      pairs = b.sub(pairs, b.div(b.mul(queries, b.sub(queries, b.index(1))), 2));
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
