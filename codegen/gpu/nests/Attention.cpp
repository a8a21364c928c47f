//===- Attention.cpp - a thread a query and head --------------------------===//
#include "codegen/gpu/nests/Kernels.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

namespace {

/// The sequence that owns `row`: how many end at or before it.
Value sequenceOf(Loops &b, Value cu, Value row) {
  Value zero = b.index(0), count = b.sub(b.dim(cu, 0), b.index(1));
  return b
      .loop(zero, count, zero,
            [&](Value i, ValueRange args) {
              Value ended =
                  arith::CmpIOp::create(b, arith::CmpIPredicate::ule, b.load(cu, b.add(i, 1)), row);
              return Values{
                  b.add(args[0], arith::IndexCastUIOp::create(b, b.getIndexType(), ended))};
            })
      .front();
}

/// What the bias adds to the score of a key at `distance` from its query.
Value biasOf(Loops &b, Value bias, Value head, Value distance) {
  auto type = cast<MemRefType>(bias.getType());
  if (type.getRank() == 1) { // a slope
    Value length = b.max(distance, b.sub(b.index(0), distance));
    Value real = arith::SIToFPOp::create(b, b.getF32Type(),
                                         arith::IndexCastOp::create(b, b.getI64Type(), length));
    return b.mulf(arith::NegFOp::create(b, b.load(bias, head)), real);
  }
  int64_t reach = type.getDimSize(1) / 2;
  Value column = b.min(b.max(distance, b.index(-reach)), b.index(reach));
  return b.load(bias, {head, b.add(column, reach)});
}

} // namespace

/// An online softmax; the result's own memory holds the weighted values.
void transformer::simt::emitKernel(Loops &b, kernel::AttentionOp op) {
  Value q = op.getQ(), k = op.getK(), v = op.getV(), result = op.getOuts()[0];
  int64_t heads = op.getNumHeads(), headDim = rowWidth(q) / heads;
  int64_t group = heads / static_cast<int64_t>(op.getNumKvHeads());
  AttentionOptionsAttr options = op.getOptions();
  b.threads({b.dim(q, 0), b.index(heads)}, [&](ValueRange at) {
    Value query = at[0], zero = b.index(0), size = b.index(headDim);
    Value column = b.mul(at[1], headDim);
    Value keyColumn = b.mul(b.div(at[1], b.index(group)), headDim);
    auto to = [&](Value d) { return Values{query, b.add(column, d)}; };
    Value sequence = sequenceOf(b, op.getCuQueries(), query), next = b.add(sequence, 1);
    Value firstQuery = b.load(op.getCuQueries(), sequence);
    Value queries = b.sub(b.load(op.getCuQueries(), next), firstQuery);
    Value firstKey = b.load(op.getCuKeys(), sequence);
    Value keys = b.sub(b.load(op.getCuKeys(), next), firstKey);
    // The query's own place among the keys.
    Value place = b.add(b.sub(query, firstQuery), b.sub(keys, queries));
    Value from = zero, end = keys;
    if (options.getCausal())
      end = b.min(keys, b.add(place, 1));
    if (int64_t window = options.getWindow()) {
      from = b.max(zero, b.add(place, 1 - window));
      end = b.min(end, b.add(place, window));
    }
    b.forEach(zero, size, [&](Value d) { b.store(b.scalar(0), result, to(d)); });
    Value scale = b.scalar(op.getScale().convertToDouble());
    for (Value factor : op.getScaleFactor())
      scale = b.mulf(scale, factor);
    Value lowest =
        arith::ConstantOp::create(b, b.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
    Values done = b.loop(from, end, {lowest, b.scalar(0)}, [&](Value j, ValueRange args) {
      Value key = b.add(firstKey, j);
      auto keyAt = [&](Value d) { return Values{key, b.add(keyColumn, d)}; };
      Value product =
          b.sum(headDim, [&](Value d) { return b.mulf(b.load(q, to(d)), b.load(k, keyAt(d))); });
      Value score = b.mulf(product, scale);
      if (Value bias = op.getPositionBias())
        score = b.addf(score, biasOf(b, bias, at[1], b.sub(j, place)));
      Value highest = arith::MaximumFOp::create(b, args[0], score);
      auto exp = [&](Value x) -> Value { return math::ExpOp::create(b, x); };
      Value shrink = exp(b.subf(args[0], highest)), weight = exp(b.subf(score, highest));
      b.forEach(zero, size, [&](Value d) {
        Value old = b.mulf(b.load(result, to(d)), shrink);
        b.store(b.addf(old, b.mulf(weight, b.load(v, keyAt(d)))), result, to(d));
      });
      return Values{highest, b.addf(b.mulf(args[1], shrink), weight)};
    });
    Value seesAny = b.less(from, end);
    b.ifThen(seesAny, [&] {
      b.forEach(zero, size,
                [&](Value d) { b.store(b.divf(b.load(result, to(d)), done[1]), result, to(d)); });
    });
    if (op.getOuts().size() < 2)
      return;
    constexpr double ln2 = 0.6931471805599453;
    Value logarithm = b.mulf(math::Log2Op::create(b, done[1]), b.scalar(ln2));
    Value sum = b.select(seesAny, b.addf(done[0], logarithm), lowest);
    b.store(sum, op.getOuts()[1], {query, at[1]});
  });
}
