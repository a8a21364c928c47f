//===- AttentionDistance.cpp - what scores have of a distance -------------===//
#include "codegen/cpu/nests/AttentionDistance.h"
#include "codegen/cpu/nests/NestWork.h"
#include "codegen/cpu/nests/Rows.h"
#include "codegen/math/VectorMath.h"
#include <numeric>

using namespace mlir;
using namespace mlir::transformer;

/// 0, 1, 2, ... and a number in every lane.
static Value steps(Emit &b) {
  SmallVector<int32_t> values(b.lanes());
  std::iota(values.begin(), values.end(), 0);
  auto type = VectorType::get({b.lanes()}, b.getI32Type());
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, ArrayRef(values)));
}
static Value everywhere(Emit &b, int32_t value) {
  auto type = VectorType::get({b.lanes()}, b.getI32Type());
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, value));
}
static Value everywhere(Emit &b, Value index) {
  Value narrow = arith::IndexCastOp::create(b, b.getI32Type(), index);
  return vector::BroadcastOp::create(b, VectorType::get({b.lanes()}, b.getI32Type()), narrow);
}
static Value clampToReach(Emit &b, Value distances, int32_t reach) {
  distances = arith::MaxSIOp::create(b, distances, everywhere(b, -reach));
  return arith::MinSIOp::create(b, distances, everywhere(b, reach));
}
static Value gather(Emit &b, Type element, Value buffer, ValueRange at, Value offsets) {
  auto type = VectorType::get({b.lanes()}, element);
  Value nothing = arith::ConstantOp::create(b, b.getZeroAttr(type));
  return vector::GatherOp::create(b, type, buffer, at, offsets, b.lanesBelow(b.lanes()), nothing);
}

Value transformer::addPositionBias(Emit &b, Value score, Value bias, Value head, Value distance) {
  constexpr double log2e = 1.4426950408889634; // scores are logarithms to the base of 2
  auto type = cast<MemRefType>(bias.getType());
  Value lanes = b.add(everywhere(b, distance), steps(b));
  if (type.getRank() == 1) { // a slope
    Value length = arith::MaxSIOp::create(b, lanes, b.sub(everywhere(b, 0), lanes));
    Value slope = b.mulf(b.load(bias, head), b.scalar(-log2e));
    return emitFma(b, arith::SIToFPOp::create(b, b.vectorType(), length), b.broadcast(slope),
                   score);
  }
  auto reach = static_cast<int32_t>(type.getDimSize(1) / 2);
  Value values =
      gather(b, b.getF32Type(), bias, {head, b.index(reach)}, clampToReach(b, lanes, reach));
  return emitFma(b, values, b.splat(log2e), score);
}

/// The largest distance that has a column of its own.
static int64_t reachOf(Value columns) {
  return cast<MemRefType>(columns.getType()).getDimSize(0) / 2;
}

Value RelativeScores::firstColumn(Emit &b, Value scores, Value head, int64_t count) const {
  return b.mul(head, rowWidth(scores) / count);
}

Value RelativeScores::columnOf(Emit &b, Value distance) const {
  int64_t reach = reachOf(columns);
  Value near = arith::MaxSIOp::create(b, distance, b.index(-reach));
  near = arith::MinSIOp::create(b, near, b.index(reach));
  Value column = b.load(columns, b.add(near, reach));
  return arith::IndexCastOp::create(b, b.getIndexType(), column);
}

Value transformer::addRelativeScores(Emit &b, Value score, const RelativeScores &scores,
                                     const ScoresAt &at, Value factor) {
  auto reach = static_cast<int32_t>(reachOf(scores.columns));
  Value lanes = arith::MinSIOp::create(b, steps(b), everywhere(b, at.lastKey));
  Value distances = clampToReach(b, b.add(everywhere(b, at.distance), lanes), reach);
  Value column = gather(b, b.getI32Type(), scores.columns, b.index(reach), distances);
  if (Value of = scores.ofQueries) {
    Value first = scores.firstColumn(b, of, at.head, scores.heads);
    Value values = gather(b, b.getF32Type(), of, {at.query, first}, column);
    score = emitFma(b, values, factor, score);
  }
  if (Value of = scores.ofKeys) {
    Value first = scores.firstColumn(b, of, at.kvHead, scores.kvHeads);
    Value rows = everywhere(b, static_cast<int32_t>(rowWidth(of)));
    Value offsets = b.add(arith::MulIOp::create(b, lanes, rows), column);
    Value values = gather(b, b.getF32Type(), of, {at.key, first}, offsets);
    score = emitFma(b, values, factor, score);
  }
  return score;
}

void transformer::sumBiasShares(Emit &b, Value shares, Value result) {
  auto type = cast<MemRefType>(shares.getType());
  int64_t heads = type.getDimSize(1), positions = rowWidth(shares);
  bool isSlope = cast<MemRefType>(result.getType()).getRank() == 1;
  Value batch = b.dim(shares, 0);
  Work work = rowWork("attention_gradient bias", "sequences", heads * positions, 1);
  b.parallel(work, batch, b.index(heads), [&](Value head) {
    sweepRow(b, positions, {}, [&](Value column, int64_t lanes, Value) {
      Value sum = b.loop(b.index(0), batch, 1, b.splat(0), [&](Value i, ValueRange before) {
        return Values{b.addf(before[0], b.loadVector(shares, {i, head, column}, lanes))};
      })[0];
      SmallVector<Value> to = {head};
      if (!isSlope)
        to.push_back(column);
      b.storeVector(sum, result, to, lanes);
      return Value();
    });
  });
}
