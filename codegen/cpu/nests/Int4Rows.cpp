//===- Int4Rows.cpp - rows for products with weights in 4 bits ------------===//
#include "codegen/cpu/linear/Int4.h"
#include "codegen/cpu/nests/NestEmitters.h"
#include "codegen/cpu/nests/NestWork.h"
#include "codegen/cpu/nests/Rows.h"
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::int4;

namespace {

/// A group of a row; vectors are words, whatever the target's.
class GroupEmitter {
public:
  GroupEmitter(Emit &b, Value x, Value out)
      : b(b), x(x), out(out), type(VectorType::get({kWord}, b.getF32Type())) {
    SmallVector<float> factors(kWord, 1);
    for (int64_t u = 0; u < kWord - 1; ++u)
      factors[u] = std::ldexp(1.0f, -4 * static_cast<int>(u));
    scales = arith::ConstantOp::create(b, DenseElementsAttr::get(type, ArrayRef<float>(factors)));
  }

  void emit(Value row, Value group, int64_t count) {
    Value first = b.mul(group, weightGroup), sum;
    for (int64_t word = 0; word < kWords; ++word) {
      Value features =
          loadColumns(b, type, x, row, b.add(first, word * kWord), count - word * kWord);
      sum = sum ? b.addf(sum, features) : features;
      Value at = b.index(word);
      vector::StoreOp::create(b, b.mulf(features, scales), out,
                              ValueRange{row, group, at, b.index(0)});
      if (word > 0)
        b.store(b.scalar(0), out, {row, group, at, b.index(kWord)});
    }
    for (int64_t half = kWord / 2; half >= 1; half /= 2) {
      SmallVector<int64_t> low, high;
      for (int64_t i = 0; i < half; ++i) {
        low.push_back(i);
        high.push_back(half + i);
      }
      sum = b.addf(vector::ShuffleOp::create(b, sum, sum, low),
                   vector::ShuffleOp::create(b, sum, sum, high));
    }
    Value total = vector::ExtractOp::create(b, sum, ArrayRef<int64_t>{0});
    b.store(b.mulf(total, b.scalar(-8)), out, {row, group, b.index(0), b.index(kWord)});
  }

private:
  Emit &b;
  Value x, out, scales;
  VectorType type;
};

} // namespace

void transformer::emitNest(Emit &b, cpu::Int4RowsOp op) {
  Value x = op.getX();
  GroupEmitter groups(b, x, op.getOuts()[0]);
  forEachGroup(b, rowWork("int4_rows", "tokens", rowWidth(x), 2), x,
               [&](Value row, Value group, int64_t count) { groups.emit(row, group, count); });
}
