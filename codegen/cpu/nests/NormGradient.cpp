//===- NormGradient.cpp - backward of layer_norm and rms_norm -------------===//
//
// First rows: what x is normalised by, and dx. Then columns, with all tokens in their order.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/nests/ColumnSums.h"
#include "codegen/cpu/nests/NestEmitters.h"
#include "codegen/cpu/nests/NestWork.h"
#include "codegen/cpu/nests/Rows.h"
#include "codegen/math/VectorMath.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

class NormGradient {
public:
  NormGradient(Emit &b, kernel::NormGradientOp op)
      : b(b), rms(op.getRms()), norm(op.getNorm()), x(op.getX()), gamma(op.getGamma()),
        dy(op.getDy()), onto(op.getOnto()), dx(op.getOuts()[0]), dgamma(op.getOuts()[1]),
        dbeta(rms ? Value() : op.getOuts()[2]), scratch(op.getOuts().back()), width(rowWidth(x)),
        part(rowWidth(gamma)), rows(b.dim(x, 0)) {}

  void emit() {
    int64_t size = Emit::itemsPerTask(width);
    std::string label = rms ? "rms_norm_gradient" : "layer_norm_gradient";
    b.parallel(rowWork(label, "tokens", width, 3, gamma), rows, b.ceilDiv(rows, size),
               [&](Value task) {
                 auto [lower, upper] = taskRange(b, task, size, rows);
                 b.forEach(lower, upper, 1, [&](Value row) {
                   b.forEach(b.index(0), b.index(width / part), 1,
                             [&](Value index) { emitPart(row, index); });
                 });
               });
    forEachColumns(b, rowWork(label + " gamma", "tokens", width, 2, gamma), rows, part,
                   [&](const ColumnBlock &block) { emitColumns(block); });
  }

private:
  Value sumOf(function_ref<Value(Value column, int64_t lanes)> term) {
    return sumRow(b, part, [&](Value column, int64_t lanes, Value accumulator) {
      Value v = term(column, lanes);
      if (lanes < b.lanes())
        v = b.select(b.lanesBelow(lanes), v, b.splat(0));
      return b.addf(accumulator, v);
    });
  }

  /// Of the columns from `first` on: dx, and what normalises x to the scratch.
  void emitPart(Value row, Value index) {
    Value first = b.mul(index, part), count = b.scalar(part);
    auto load = [&](Value buffer, Value column, int64_t lanes) {
      return b.loadVector(buffer, {row, b.add(first, column)}, lanes);
    };
    Value mean = b.splat(0);
    if (!rms) {
      Value sum = sumOf([&](Value column, int64_t lanes) { return load(x, column, lanes); });
      mean = b.broadcast(b.divf(sum, count));
    }
    auto centred = [&](Value column, int64_t lanes) {
      return b.subf(load(x, column, lanes), mean);
    };
    Value squares = sumOf([&](Value column, int64_t lanes) {
      Value d = centred(column, lanes);
      return b.mulf(d, d);
    });
    double freedom = norm.getUnbiased() ? part - 1 : part;
    Value inverse = inverseDeviation(b, b.divf(squares, b.scalar(freedom)), norm);
    Value at = b.mul(index, 2), lane0 = vector::ExtractOp::create(b, mean, ArrayRef<int64_t>{0});
    b.store(lane0, scratch, {row, at});
    Value scalarInverse = vector::ExtractOp::create(b, inverse, ArrayRef<int64_t>{0});
    b.store(scalarInverse, scratch, {row, b.add(at, 1)});
    auto weighted = [&](Value column, int64_t lanes) {
      return b.mulf(load(dy, column, lanes), b.loadVector(gamma, column, lanes));
    };
    auto normalized = [&](Value column, int64_t lanes) {
      return b.mulf(centred(column, lanes), inverse);
    };
    Value meanG = b.splat(0);
    if (!rms)
      meanG = b.broadcast(b.divf(sumOf(weighted), count));
    Value products = sumOf([&](Value column, int64_t lanes) {
      return b.mulf(weighted(column, lanes), normalized(column, lanes));
    });
    Value share = b.divf(products, b.scalar(freedom));
    if (norm.getEpsOutside()) { // d is not the deviation itself
      Value eps = b.scalar(norm.getEps().convertToDouble());
      Value rest = b.subf(b.scalar(1), b.mulf(eps, scalarInverse)), none = b.scalar(0);
      Value differs = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, rest, none);
      // Of equal numbers there is nothing to share.
      share = b.select(differs, b.divf(share, rest), none);
    }
    share = b.broadcast(share);
    sweepRow(b, part, {}, [&](Value column, int64_t lanes, Value) {
      Value d =
          b.subf(b.subf(weighted(column, lanes), meanG), b.mulf(normalized(column, lanes), share));
      d = onto ? emitFma(b, d, inverse, load(onto, column, lanes)) : b.mulf(d, inverse);
      b.storeVector(d, dx, {row, b.add(first, column)}, lanes);
      return Value();
    });
  }

  void emitColumns(const ColumnBlock &block) {
    int64_t vectors = block.vectors;
    auto addPart = [&](Value row, Value index, ValueRange before) {
      Value at = b.mul(index, 2), begin = b.mul(index, part);
      Value mean = b.broadcast(b.load(scratch, {row, at}));
      Value inverse = b.broadcast(b.load(scratch, {row, b.add(at, 1)}));
      Values next(before);
      for (int64_t i = 0; i < vectors; ++i) {
        SmallVector<Value> place = {row, b.add(begin, block.column(i))};
        Value d = b.loadVector(dy, place, block.lanes(i));
        Value h = b.mulf(b.subf(b.loadVector(x, place, block.lanes(i)), mean), inverse);
        next[i] = emitFma(b, d, h, next[i]);
        if (dbeta)
          next[vectors + i] = b.addf(next[vectors + i], d);
      }
      return next;
    };
    Values zeros((dbeta ? 2 : 1) * vectors, b.splat(0));
    Values sums = b.loop(b.index(0), rows, 1, zeros, [&](Value row, ValueRange before) {
      return part == width ? addPart(row, b.index(0), before)
                           : b.loop(b.index(0), b.index(width / part), 1, before,
                                    [&](Value index, ValueRange inner) {
                                      return addPart(row, index, inner);
                                    });
    });
    for (int64_t i = 0; i < vectors; ++i) {
      b.storeVector(sums[i], dgamma, block.column(i), block.lanes(i));
      if (dbeta)
        b.storeVector(sums[vectors + i], dbeta, block.column(i), block.lanes(i));
    }
  }

  Emit &b;
  bool rms;
  NormAttr norm;
  Value x, gamma, dy, onto, dx, dgamma, dbeta, scratch;
  int64_t width, part;
  Value rows;
};

} // namespace

void transformer::emitNest(Emit &b, kernel::NormGradientOp op) { NormGradient(b, op).emit(); }
