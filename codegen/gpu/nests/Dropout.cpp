//===- Dropout.cpp - random factors of rows -------------------------------===//
#include "codegen/gpu/nests/Dropout.h"
#include "codegen/gpu/nests/Kernels.h"
#include "codegen/math/Philox.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

Values DropoutFactors::draw(Value row, Value number, Value lane) const {
  Type i32 = b.getI32Type();
  auto low = [&](Value v) -> Value {
    if (v.getType().isIndex())
      return arith::IndexCastOp::create(b, i32, v);
    return arith::TruncIOp::create(b, i32, v);
  };
  auto word = [&](uint32_t value) -> Value {
    return arith::ConstantIntOp::create(b, static_cast<int32_t>(value), 32);
  };
  Value high = arith::ShRUIOp::create(b, key, b.integer(32));
  std::array<Value, 4> random =
      emitPhilox(b, {low(key), low(high)},
                 {low(b.add(b.mul(number, lanes), lane)), low(row), low(stream), word(0)});
  Value below = word(static_cast<uint32_t>(rate * 4294967296.0));
  Values factors;
  for (Value each : random)
    factors.push_back(b.select(b.compare(arith::CmpIPredicate::ult, each, below), b.scalar(0),
                               b.scalar(1 / (1 - rate))));
  return factors;
}

Value DropoutFactors::of(Value row, Value column) const {
  Value inGroup = b.rem(column, group), which = b.div(inGroup, lanes);
  Values factors = draw(row, b.div(column, group), b.rem(inGroup, lanes));
  Value result = factors[0];
  for (int64_t i = 1; i < 4; ++i)
    result = b.select(b.equal(which, b.index(i)), factors[i], result);
  return result;
}

/// A thread a counter.
void transformer::simt::emitKernel(Loops &b, kernel::DropoutOp op) {
  Value x = op.getX();
  int64_t width = rowWidth(x), groups = (width + DropoutFactors::group - 1) / DropoutFactors::group;
  Values sizes = {b.dim(x, 0), b.index(groups * DropoutFactors::lanes)};
  b.threads(sizes, [&](ValueRange at) {
    DropoutFactors factors{b, op.getKey(), op.getRate().convertToDouble(), b.index(0)};
    Value number = b.div(at[1], DropoutFactors::lanes), lane = b.rem(at[1], DropoutFactors::lanes);
    for (auto [i, factor] : llvm::enumerate(factors.draw(at[0], number, lane))) {
      int64_t behind = static_cast<int64_t>(i) * DropoutFactors::lanes;
      Value column = b.add(b.add(b.mul(number, DropoutFactors::group), lane), behind);
      b.ifThen(b.less(column, b.index(width)), [&] {
        Values place = {at[0], column};
        Value kept = b.mulf(b.load(x, place), factor);
        for (Value out : op.getOuts())
          b.store(kept, out, place);
      });
    }
  });
}
