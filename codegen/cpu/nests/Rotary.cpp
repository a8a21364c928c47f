//===- Rotary.cpp - cosines and sines of positions, and rotations ---------===//
#include "codegen/cpu/nests/NestEmitters.h"
#include "codegen/cpu/nests/NestWork.h"
#include "codegen/cpu/nests/Rows.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::transformer;

void transformer::emitNest(Emit &b, kernel::RotaryTableOp op) {
  Value result = op.getOuts()[0], positions = op.getPositions();
  int64_t width = rowWidth(result), half = width / 2;
  constexpr int64_t size = 16; // positions a task
  double scale = op.getScale().convertToDouble();
  auto put = [&](Value v, Value row, Value column) {
    if (scale != 1)
      v = b.mulf(v, arith::ConstantOp::create(b, b.getF64FloatAttr(scale)));
    b.store(arith::TruncFOp::create(b, b.getF32Type(), v), result, {row, column});
  };
  Value rows = b.dim(result, 0);
  b.parallel(
      rowWork("rotary_table", "tokens", width, 1), rows, b.ceilDiv(rows, size), [&](Value task) {
        auto [lower, upper] = taskRange(b, task, size, rows);
        b.forEach(b.index(0), b.index(half), 1, [&](Value pair) {
          Value frequency = b.load(op.getFrequencies(), pair);
          b.forEach(lower, upper, 1, [&](Value row) {
            Value position = arith::SIToFPOp::create(b, b.getF64Type(), b.load(positions, row));
            Value angle = b.mulf(position, frequency);
            put(math::CosOp::create(b, angle), row, pair);
            put(math::SinOp::create(b, angle), row, b.add(pair, half));
          });
        });
      });
}

void transformer::emitNest(Emit &b, kernel::RotaryEmbeddingOp op) {
  Value x = op.getX(), table = op.getTable(), result = op.getOuts()[0];
  int64_t width = rowWidth(x), rotated = rowWidth(table), half = rotated / 2;
  int64_t headDim = width / static_cast<int64_t>(op.getNumHeads());
  int64_t size = Emit::itemsPerTask(width);
  Value rows = b.dim(x, 0);
  Work work = rowWork("rotary_embedding", "tokens", width, 2);
  work.amounts[0].bytes += rowBytes(rotated);
  b.parallel(work, rows, b.ceilDiv(rows, size), [&](Value task) {
    auto [lower, upper] = taskRange(b, task, size, rows);
    b.forEach(lower, upper, 1, [&](Value row) {
      // A vector of cosines and sines for all heads.
      sweepRow(b, half, {}, [&](Value pair, int64_t lanes, Value) {
        Value cosine = b.loadVector(table, {row, pair}, lanes);
        Value sine = b.loadVector(table, {row, b.add(pair, half)}, lanes);
        if (op.getInverse())
          sine = arith::NegFOp::create(b, sine);
        b.forEach(b.index(0), b.index(width), headDim, [&](Value head) {
          SmallVector<Value> at = {row, b.add(head, pair)};
          SmallVector<Value> partner = {row, b.add(at[1], half)};
          Value first = b.loadVector(x, at, lanes), second = b.loadVector(x, partner, lanes);
          b.storeVector(b.subf(b.mulf(first, cosine), b.mulf(second, sine)), result, at, lanes);
          b.storeVector(b.addf(b.mulf(second, cosine), b.mulf(first, sine)), result, partner,
                        lanes);
        });
        return Value();
      });
      if (x == result || rotated == headDim)
        return;
      b.forEach(b.index(0), b.index(width), headDim, [&](Value head) {
        sweepRow(b, headDim - rotated, {}, [&](Value column, int64_t lanes, Value) {
          SmallVector<Value> at = {row, b.add(b.add(head, column), rotated)};
          b.storeVector(b.loadVector(x, at, lanes), result, at, lanes);
          return Value();
        });
      });
    });
  });
}
