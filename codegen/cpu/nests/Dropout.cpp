//===- Dropout.cpp - random factors of rows -------------------------------===//
//
// Philox makes four numbers of a counter. Eight counters at once fill four vectors, which are 32
// columns beside each other.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/nests/Dropout.h"
#include "codegen/cpu/nests/Bfloat16.h"
#include "codegen/cpu/nests/NestEmitters.h"
#include "codegen/cpu/nests/NestWork.h"
#include "codegen/cpu/nests/Rows.h"
#include "codegen/math/Philox.h"
#include "codegen/math/VectorMath.h"

using namespace mlir;
using namespace mlir::transformer;

DropoutFactors::DropoutFactors(Emit &b, Value key, double rate, Value stream)
    : b(b), key(key), stream(stream), rate(rate) {}

/// A number in every lane, of which emitPhilox takes the low half.
Value DropoutFactors::splat(Value number) const {
  Type i64 = b.getI64Type();
  if (number.getType().isIndex())
    number = arith::IndexCastOp::create(b, i64, number);
  return vector::BroadcastOp::create(b, VectorType::get({lanes}, i64), number);
}

Values DropoutFactors::draw(Value row, Value number) const {
  auto words = VectorType::get({lanes}, b.getI32Type()), wide = words.clone(b.getI64Type());
  auto ascending = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
  Value lane =
      arith::ConstantOp::create(b, DenseElementsAttr::get(wide, ArrayRef<int64_t>(ascending)));
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(wide));
  Value high = arith::ShRUIOp::create(b, key, arith::ConstantIntOp::create(b, 32, 64));
  std::array<Value, 4> random =
      emitPhilox(b, {splat(key), splat(high)},
                 {b.add(splat(b.mul(number, lanes)), lane), splat(row), splat(stream), zero});
  Value below = integerConstant(b, words, static_cast<uint32_t>(rate * 4294967296.0));
  Value none = floatConstant(b, floats(), 0), kept = floatConstant(b, floats(), 1 / (1 - rate));
  Values factors;
  for (Value number : random) {
    Value word = arith::TruncIOp::create(b, words, number);
    factors.push_back(b.select(b.compare(arith::CmpIPredicate::ult, word, below), none, kept));
  }
  return factors;
}

void DropoutFactors::forEachVector(Value row, Value first, Value columns,
                                   function_ref<void(Value column, Value factors)> body) const {
  Value firstGroup = b.div(first, group);
  b.forEach(b.index(0), columns, group, [&](Value column) {
    Values factors = draw(row, b.add(firstGroup, b.div(column, group)));
    for (auto [i, vector] : llvm::enumerate(factors))
      body(b.add(column, static_cast<int64_t>(i) * lanes), vector);
  });
}

void DropoutFactors::multiplyGroups(Value buffer, ValueRange at, Value row, Value first,
                                    Value columns) const {
  forEachVector(row, first, columns, [&](Value column, Value factors) {
    SmallVector<Value> place(at);
    place.push_back(column);
    Value x = vector::LoadOp::create(b, floats(), buffer, place);
    vector::StoreOp::create(b, b.mulf(x, factors), buffer, place);
  });
}

void DropoutFactors::storeGroups(Value buffer, Value row, Value first, Value columns) const {
  forEachVector(row, first, columns, [&](Value column, Value factors) {
    vector::StoreOp::create(b, factors, buffer, column);
  });
}

void DropoutFactors::multiplyRow(Value x, Value row, int64_t columns, StoreVector store) const {
  int64_t whole = columns / group;
  auto multiply = [&](Value number, int64_t count) {
    Values factors = draw(row, number);
    for (int64_t i = 0; i * lanes < count; ++i) {
      Value column = b.add(b.mul(number, group), i * lanes);
      int64_t inside = std::min(lanes, count - i * lanes);
      store(b.mulf(loadColumns(b, floats(), x, row, column, inside), factors[i]), column, inside);
    }
  };
  b.forEach(b.index(0), b.index(whole), 1, [&](Value number) { multiply(number, group); });
  if (columns % group)
    multiply(b.index(whole), columns % group);
}

void transformer::emitNest(Emit &b, kernel::DropoutOp op) {
  Value x = op.getX(), rows = b.dim(x, 0);
  int64_t width = rowWidth(x), size = Emit::itemsPerTask(4 * width); // a number takes its time
  b.parallel(rowWork("dropout", "tokens", width, 2), rows, b.ceilDiv(rows, size), [&](Value task) {
    DropoutFactors factors(b, op.getKey(), op.getRate().convertToDouble(), b.index(0));
    auto [lower, upper] = taskRange(b, task, size, rows);
    b.forEach(lower, upper, 1, [&](Value row) {
      factors.multiplyRow(x, row, width, [&](Value v, Value column, int64_t count) {
        for (Value out : op.getOuts())
          storeColumns(b, v, out, row, column, count);
      });
    });
  });
}
