//===- AttentionScores.cpp - what a query and a key have in common --------===//
#include "codegen/gpu/nests/AttentionScores.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

std::pair<Value, Value> AttentionScores::keysOf(Value place, Value count) const {
  Value from = b.index(0), end = count;
  if (options.getCausal())
    end = b.min(end, b.add(place, 1));
  if (int64_t window = options.getWindow()) {
    from = b.max(from, b.add(place, 1 - window));
    end = b.min(end, b.add(place, window));
  }
  return {from, end};
}

std::pair<Value, Value> AttentionScores::queriesOf(Value key, Value from, Value end) const {
  if (options.getCausal())
    from = b.max(from, key);
  if (int64_t window = options.getWindow()) {
    from = b.max(from, b.add(key, 1 - window));
    end = b.min(end, b.add(key, window));
  }
  return {from, end};
}

std::pair<Value, Value> AttentionScores::biasPlace(Value distance) const {
  auto type = cast<MemRefType>(bias.getType());
  if (type.getRank() == 1) { // a slope
    Value length = b.max(distance, b.sub(b.index(0), distance));
    Value real = arith::SIToFPOp::create(b, b.getF32Type(),
                                         arith::IndexCastOp::create(b, b.getI64Type(), length));
    return {b.index(0), arith::NegFOp::create(b, real)};
  }
  int64_t reach = type.getDimSize(1) / 2;
  Value column = b.min(b.max(distance, b.index(-reach)), b.index(reach));
  return {b.add(column, reach), Value()};
}

Value AttentionScores::relativeColumn(Value distance) const {
  int64_t reach = cast<MemRefType>(columns.getType()).getDimSize(0) / 2;
  Value place = b.min(b.max(distance, b.index(-reach)), b.index(reach));
  return b.loadIndex(columns, b.add(place, reach));
}

Value AttentionScores::of(Value query, Value head, const Place &key, Value distance) const {
  Value kvHead = kvHeadOf(head);
  Value product = b.sum(headDim, [&](Value d) {
    Value x = loadFloat(b, q, {query, b.add(column(head), d)});
    return b.mulf(x, key.load(b, b.add(column(kvHead), d)));
  });
  return ofProduct(product, query, head, key.at.front(), distance);
}

Value AttentionScores::ofProduct(Value product, Value query, Value head, Value row,
                                 Value distance) const {
  if (columns) { // what the contents of a query and a key say about their distance
    Value where = relativeColumn(distance), sum = b.scalar(0);
    auto add = [&](Value scores, Value at, Value of, int64_t count) {
      if (!scores)
        return;
      int64_t positions = rowWidth(scores) / count;
      sum = b.addf(sum, b.load(scores, {at, b.add(b.mul(of, positions), where)}));
    };
    add(queryScores, query, head, heads);
    add(keyScores, row, kvHeadOf(head), kvHeads);
    product = b.addf(product, sum);
  }
  Value score = b.mulf(product, scale());
  if (!bias)
    return score;
  auto [place, length] = biasPlace(distance);
  if (length)
    return b.addf(score, b.mulf(length, b.load(bias, head)));
  return b.addf(score, b.load(bias, {head, place}));
}

Value transformer::simt::roundTo(Loops &b, FloatType type, Value x) {
  if (!type)
    return x;
  if (type.isF16()) {
    Value half = arith::TruncFOp::create(b, type, x);
    return arith::ExtFOp::create(b, b.getF32Type(), half);
  }
  auto word = [&](int64_t value) -> Value { return arith::ConstantIntOp::create(b, value, 32); };
  Value bits = arith::BitcastOp::create(b, b.getI32Type(), x);
  Value odd = b.both(arith::ShRUIOp::create(b, bits, word(16)), word(1));
  Value up = b.add(b.add(bits, word(0x7fff)), odd);
  Value rounded = arith::ShLIOp::create(b, arith::ShRUIOp::create(b, up, word(16)), word(16));
  Value isNaN = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, x, x);
  return b.select(isNaN, x, arith::BitcastOp::create(b, b.getF32Type(), rounded));
}

Value transformer::simt::logOfPower(Loops &b, Value x) {
  constexpr double ln2 = 0.6931471805599453;
  return b.mulf(math::CeilOp::create(b, b.mulf(x, b.scalar(1 / ln2))), b.scalar(ln2));
}
