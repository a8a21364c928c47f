//===- IntegerRows.cpp - rows as integers of 8 bits -----------------------===//
#include "codegen/cpu/linear/Integers.h"
#include "codegen/cpu/nests/NestEmitters.h"
#include "codegen/cpu/nests/NestWork.h"
#include "codegen/cpu/nests/Rows.h"
#include <limits>

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::integers;

namespace {

/// A group of a row as one vector, whatever the target's.
class GroupEmitter {
public:
  GroupEmitter(Emit &b, cpu::IntegerRowsOp op)
      : b(b), x(op.getX()), out(op.getOuts()[0]), offset(op.getOffset()),
        type(VectorType::get({weightGroup}, b.getF32Type())), integers(type.clone(b.getI32Type())) {
  }

  void emit(Value row, Value group, int64_t count) {
    Value features = loadColumns(b, type, x, row, b.mul(group, weightGroup), count);
    Value bits = arith::BitcastOp::create(b, integers, features);
    // Without their signs the bits of floats are ordered as the floats are, NaN last.
    Value absolute = arith::AndIOp::create(b, bits, splat(0x7fffffff));
    Value most =
        arith::BitcastOp::create(b, b.getF32Type(), reduce(vector::CombiningKind::MAXSI, absolute));
    Value inverse = b.divf(b.scalar(127), most);
    Value isFinite = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, inverse,
                                           b.scalar(std::numeric_limits<float>::infinity()));
    inverse = b.select(isFinite, inverse, b.scalar(0));
    Value scale = b.addf(b.divf(most, b.scalar(127)), b.subf(most, most)); // NaN of an infinity
    Value q = round(b.mulf(features, vector::BroadcastOp::create(b, type, inverse)));
    storeWords(q, {row, group, b.index(0)});
    Value sum = reduce(vector::CombiningKind::ADD, q);
    b.store(arith::MulIOp::create(b, sum, scalar(-offset)), out, {row, group, b.index(kStart)});
    b.store(arith::BitcastOp::create(b, b.getI32Type(), scale), out, {row, group, b.index(kScale)});
  }

private:
  /// To the nearest integer, ties to even; |x| is at most 127.
  Value round(Value x) {
    constexpr float one = 12582912; // 3 2^22: the last place of a float of this size is 1
    Attribute shift = b.getF32FloatAttr(one);
    Value shifted = b.addf(
        x, arith::ConstantOp::create(b, cast<TypedAttr>(DenseElementsAttr::get(type, shift))));
    return arith::SubIOp::create(b, arith::BitcastOp::create(b, integers, shifted),
                                 splat(llvm::bit_cast<int32_t>(one)));
  }

  void storeWords(Value q, ValueRange at) {
    constexpr int64_t pair = 2 * kBytes;
    Value bytes = arith::TruncIOp::create(b, integers.clone(b.getI8Type()), q);
    SmallVector<int64_t> order; // of two words the even features, then the odd ones
    for (int64_t first = 0; first < weightGroup; first += pair)
      for (int64_t odd = 0; odd < 2; ++odd)
        for (int64_t i = 0; i < kBytes; ++i)
          order.push_back(first + 2 * i + odd);
    bytes = vector::ShuffleOp::create(b, bytes, bytes, order);
    Value words = vector::BitCastOp::create(b, VectorType::get({kWords}, b.getI32Type()), bytes);
    vector::StoreOp::create(b, words, out, at);
  }

  Value reduce(vector::CombiningKind kind, Value vector) {
    return vector::ReductionOp::create(b, kind, vector);
  }
  Value scalar(int64_t value) {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  Value splat(int32_t value) {
    Attribute element = b.getI32IntegerAttr(value);
    return arith::ConstantOp::create(b, cast<TypedAttr>(DenseElementsAttr::get(integers, element)));
  }

  Emit &b;
  Value x, out;
  int64_t offset;
  VectorType type, integers;
};

} // namespace

void transformer::emitNest(Emit &b, cpu::IntegerRowsOp op) {
  Value x = op.getX();
  GroupEmitter groups(b, op);
  forEachGroup(b, rowWork("integer_rows", "tokens", rowWidth(x), 2), x,
               [&](Value row, Value group, int64_t count) { groups.emit(row, group, count); });
}
