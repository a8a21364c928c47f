//===- Bfloat16.cpp - words of two bfloat16 -------------------------------===//
#include "codegen/cpu/nests/Bfloat16.h"
#include "codegen/cpu/nests/NestEmitters.h"
#include "codegen/cpu/nests/NestWork.h"
#include "codegen/cpu/nests/Rows.h"
#include "codegen/math/VectorMath.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

Value round(Emit &b, Value x) {
  return arith::TruncFOp::create(b, cast<VectorType>(x.getType()).clone(b.getBF16Type()), x);
}

/// A word each, in the lower half.
Value toWords(Emit &b, Value x) {
  auto type = cast<VectorType>(x.getType());
  Value halves = arith::BitcastOp::create(b, type.clone(b.getI16Type()), round(b, x));
  return arith::ExtUIOp::create(b, type.clone(b.getI32Type()), halves);
}

Value bits(Emit &b, Value x) {
  return arith::BitcastOp::create(b, cast<VectorType>(x.getType()).clone(b.getI32Type()), x);
}

/// What x is the sum of, each with the bits of a bfloat16; x itself if it is one that is rounded
/// later. Halves are rounded away from 0, which is exact as any rounding.
Values emitParts(Emit &b, Value x, int64_t count) {
  Values parts;
  for (; int64_t(parts.size()) + 1 < count; x = b.subf(x, parts.back())) {
    Value word = bits(b, x);
    word = b.add(word, integerConstant(b, word.getType(), 0x8000));
    word = b.both(word, integerConstant(b, word.getType(), int32_t(0xffff0000)));
    parts.push_back(arith::BitcastOp::create(b, x.getType(), word));
  }
  parts.push_back(x);
  return parts;
}

} // namespace

Value transformer::emitDotBfloat16(ImplicitLocOpBuilder &b, Value w, Value x, Value sum) {
  auto type = cast<VectorType>(sum.getType());
  auto pairs = VectorType::get({2 * type.getNumElements()}, b.getBF16Type());
  std::string name = "llvm.x86.avx512bf16.dpbf16ps." + std::to_string(32 * type.getNumElements());
  SmallVector<Value> operands = {sum, vector::BitCastOp::create(b, pairs, w),
                                 vector::BitCastOp::create(b, pairs, x)};
  return LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr(name), operands).getResult(0);
}

Values transformer::emitNeighbourPairs(Emit &b, Value x, int64_t parts) {
  int64_t count = cast<VectorType>(x.getType()).getNumElements();
  auto words = VectorType::get({count / 2}, b.getI32Type());
  Values pairs;
  for (Value part : emitParts(b, x, parts))
    pairs.push_back(vector::BitCastOp::create(b, words, round(b, part)));
  return pairs;
}

Values transformer::emitPairs(Emit &b, Value lower, Value upper, int64_t parts) {
  Value half = integerConstant(b, cast<VectorType>(lower.getType()).clone(b.getI32Type()), 16);
  if (parts == parts::kRounded) {
    Value high = arith::ShLIOp::create(b, toWords(b, upper), half);
    return {b.either(high, toWords(b, lower))};
  }
  Values pairs;
  for (auto [low, high] : llvm::zip_equal(emitParts(b, lower, parts), emitParts(b, upper, parts)))
    pairs.push_back(b.either(arith::ShRUIOp::create(b, bits(b, low), half), bits(b, high)));
  return pairs;
}

void transformer::emitNest(Emit &b, cpu::Bfloat16RowsOp op) {
  Value x = op.getX(), out = op.getOuts()[0];
  auto words = cast<MemRefType>(out.getType());
  int64_t parts = words.getRank() == 3 ? words.getDimSize(0) : parts::kRounded;
  VectorType type = VectorType::get({weightGroup}, b.getF32Type());
  forEachGroup(
      b, rowWork("bfloat16_rows", "tokens", rowWidth(x), 2), x,
      [&](Value row, Value group, int64_t count) {
        Value features = loadColumns(b, type, x, row, b.mul(group, weightGroup), count);
        for (auto [part, pairs] : llvm::enumerate(emitNeighbourPairs(b, features, parts))) {
          Values at = {row, b.mul(group, weightGroup / 2)};
          if (words.getRank() == 3)
            at.insert(at.begin(), b.index(part));
          int64_t end = rowWidth(x) / weightGroup * weightGroup + weightGroup; // of the last
          if (count == weightGroup || rowWidth(out) >= end / 2) {
            vector::StoreOp::create(b, pairs, out, at);
            continue;
          }
          VectorType mask = cast<VectorType>(pairs.getType()).clone(b.getI1Type());
          Value there = vector::ConstantMaskOp::create(b, mask, ArrayRef<int64_t>{(count + 1) / 2});
          vector::MaskedStoreOp::create(b, out, at, there, pairs);
        }
      });
}
