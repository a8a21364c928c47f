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

} // namespace

Value transformer::emitDotBfloat16(ImplicitLocOpBuilder &b, Value w, Value x, Value sum) {
  auto type = cast<VectorType>(sum.getType());
  auto pairs = VectorType::get({2 * type.getNumElements()}, b.getBF16Type());
  std::string name = "llvm.x86.avx512bf16.dpbf16ps." + std::to_string(32 * type.getNumElements());
  SmallVector<Value> operands = {sum, vector::BitCastOp::create(b, pairs, w),
                                 vector::BitCastOp::create(b, pairs, x)};
  return LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr(name), operands).getResult(0);
}

Value transformer::emitNeighbourPairs(Emit &b, Value x) {
  int64_t count = cast<VectorType>(x.getType()).getNumElements();
  return vector::BitCastOp::create(b, VectorType::get({count / 2}, b.getI32Type()), round(b, x));
}

Value transformer::emitPairs(Emit &b, Value lower, Value upper) {
  Value high = toWords(b, upper);
  Value half = integerConstant(b, high.getType(), 16);
  return b.either(arith::ShLIOp::create(b, high, half), toWords(b, lower));
}

Values transformer::emitPairs(Emit &b, ValueRange vectors) {
  Values words;
  for (size_t i = 0; i < vectors.size(); i += 2)
    words.push_back(i + 1 < vectors.size() ? emitPairs(b, vectors[i], vectors[i + 1])
                                           : toWords(b, vectors[i]));
  return words;
}

void transformer::emitNest(Emit &b, cpu::Bfloat16RowsOp op) {
  Value x = op.getX(), out = op.getOuts()[0];
  VectorType type = VectorType::get({weightGroup}, b.getF32Type());
  forEachGroup(b, rowWork("bfloat16_rows", "tokens", rowWidth(x), 2), x,
               [&](Value row, Value group, int64_t count) {
                 Value features = loadColumns(b, type, x, row, b.mul(group, weightGroup), count);
                 Value words = emitNeighbourPairs(b, features);
                 SmallVector<Value> at = {row, b.mul(group, weightGroup / 2)};
                 int64_t end = rowWidth(x) / weightGroup * weightGroup + weightGroup; // of the last
                 if (count == weightGroup || rowWidth(out) >= end / 2) {
                   vector::StoreOp::create(b, words, out, at);
                   return;
                 }
                 VectorType mask = cast<VectorType>(words.getType()).clone(b.getI1Type());
                 Value there =
                     vector::ConstantMaskOp::create(b, mask, ArrayRef<int64_t>{(count + 1) / 2});
                 vector::MaskedStoreOp::create(b, out, at, there, words);
               });
}
