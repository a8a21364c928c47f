//===- ElementLoss.cpp - losses of numbers, and their backward ------------===//
#include "codegen/cpu/nests/NestEmitters.h"
#include "codegen/cpu/nests/Rows.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// The numbers of a loss, a few a sequence or one a token, so one thread goes through them, in f64.
template <typename OpTy> class Numbers {
public:
  Numbers(Emit &b, OpTy op) : b(b), op(op), rows(b.dim(op.getX(), 0)) {}

  Value constant(double v) { return arith::ConstantOp::create(b, b.getF64FloatAttr(v)); }
  bool isSquared() { return op.getKind() == LossKind::Squared; }
  int64_t width() { return rowWidth(op.getX()); }
  Value x(ValueRange at) { return load(op.getX(), at); }
  Value label(ValueRange at) { return load(op.getLabels(), at); }

  /// How many there are, as f64.
  Value count() {
    Value all = arith::IndexCastOp::create(b, b.getI64Type(), b.mul(rows, width()));
    return arith::SIToFPOp::create(b, b.getF64Type(), all);
  }

  /// The sum of what `term` gives for each, in their order.
  Value sum(function_ref<Value(ValueRange at)> term) {
    return b.loop(b.index(0), rows, 1, constant(0), [&](Value row, ValueRange sum) {
      return b.loop(b.index(0), b.index(width()), 1, sum, [&](Value column, ValueRange before) {
        return Values{b.addf(before[0], term({row, column}))};
      });
    })[0];
  }

  void forEach(function_ref<void(ValueRange at)> visit) {
    b.forEach(b.index(0), rows, 1, [&](Value row) {
      b.forEach(b.index(0), b.index(width()), 1, [&](Value column) { visit({row, column}); });
    });
  }

private:
  Value load(Value buffer, ValueRange at) {
    size_t rank = cast<MemRefType>(buffer.getType()).getRank();
    Value v = b.load(buffer, at.take_front(rank)); // one label a row may be a vector's
    if (v.getType().isInteger())
      return arith::SIToFPOp::create(b, b.getF64Type(), v);
    return arith::ExtFOp::create(b, b.getF64Type(), v);
  }

  Emit &b;
  OpTy op;
  Value rows;
};

} // namespace

void transformer::emitNest(Emit &b, kernel::ElementLossOp op) {
  Numbers numbers(b, op);
  Value one = numbers.constant(1), none = numbers.constant(0);
  Value sum = numbers.sum([&](ValueRange at) -> Value {
    Value x = numbers.x(at), y = numbers.label(at);
    if (numbers.isSquared()) {
      Value difference = b.subf(x, y);
      return b.mulf(difference, difference);
    }
    Value small = math::ExpOp::create(b, arith::NegFOp::create(b, math::AbsFOp::create(b, x)));
    Value rest = math::LogOp::create(b, b.addf(one, small));
    Value most = arith::MaximumFOp::create(b, x, none);
    return b.addf(b.subf(most, b.mulf(x, y)), rest);
  });
  Value count = arith::MaximumFOp::create(b, numbers.count(), one);
  b.store(arith::TruncFOp::create(b, b.getF32Type(), b.divf(sum, count)), op.getOuts()[0], {});
}

void transformer::emitNest(Emit &b, kernel::ElementLossGradientOp op) {
  Numbers numbers(b, op);
  Value dloss = arith::ExtFOp::create(b, b.getF64Type(), b.load(op.getDloss(), {}));
  Value share = b.divf(dloss, numbers.count()), one = numbers.constant(1);
  numbers.forEach([&](ValueRange at) {
    Value x = numbers.x(at), y = numbers.label(at), slope;
    if (numbers.isSquared()) {
      slope = b.mulf(numbers.constant(2), b.subf(x, y));
    } else {
      Value e = math::ExpOp::create(b, arith::NegFOp::create(b, x));
      slope = b.subf(b.divf(one, b.addf(one, e)), y);
    }
    Value dx = arith::TruncFOp::create(b, b.getF32Type(), b.mulf(share, slope));
    b.store(dx, op.getOuts()[0], at);
  });
}
