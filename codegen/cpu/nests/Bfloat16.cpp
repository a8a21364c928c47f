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

constexpr int32_t kUpperHalf = int32_t(0xffff0000); // of a word

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
    word = b.both(word, integerConstant(b, word.getType(), kUpperHalf));
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

/// The halves of two vectors of words in turn.
static Value interleaveHalves(Emit &b, Value lower, Value upper) {
  auto type = cast<VectorType>(lower.getType());
  int64_t count = 2 * type.getNumElements();
  auto halves = VectorType::get({count}, b.getI16Type());
  SmallVector<int64_t> order;
  for (int64_t i = 0; i < count; ++i)
    order.append({i, count + i});
  Value both = vector::ShuffleOp::create(b, vector::BitCastOp::create(b, halves, lower),
                                         vector::BitCastOp::create(b, halves, upper), order);
  return vector::BitCastOp::create(b, VectorType::get({count}, b.getI32Type()), both);
}

Values transformer::emitPairs(Emit &b, Value lower, Value upper, int64_t parts) {
  if (getElementTypeOrSelf(lower).isInteger())
    return {interleaveHalves(b, lower, upper)};
  auto words = cast<VectorType>(lower.getType()).clone(b.getI32Type());
  Value half = integerConstant(b, words, 16), upperHalf = integerConstant(b, words, kUpperHalf);
  if (parts == parts::kRounded) {
    Value high = arith::ShLIOp::create(b, toWords(b, upper), half);
    return {b.either(high, toWords(b, lower))};
  }
  Values pairs; // the last part may be below 2^-126, and have bits in its lower half
  for (auto [low, high] : llvm::zip_equal(emitParts(b, lower, parts), emitParts(b, upper, parts)))
    pairs.push_back(
        b.either(arith::ShRUIOp::create(b, bits(b, low), half), b.both(bits(b, high), upperHalf)));
  return pairs;
}

bool transformer::areWords(Value rows) {
  return cast<MemRefType>(rows.getType()).getElementType().isInteger(32);
}

void transformer::storeColumns(Emit &b, Value x, Value to, Value row, Value first, int64_t count) {
  auto type = cast<VectorType>(x.getType());
  auto below = [&](Type type, int64_t count) -> Value {
    VectorType mask = cast<VectorType>(type).clone(b.getI1Type());
    return vector::ConstantMaskOp::create(b, mask, ArrayRef<int64_t>{count});
  };
  bool isWhole = count == type.getNumElements();
  if (areWords(to)) {
    if (!isWhole)
      x = b.select(below(type, count), x, floatConstant(b, type, 0));
    x = emitNeighbourPairs(b, x, parts::kRounded)[0];
    first = b.div(first, 2);
    count = llvm::divideCeil(count, 2);
  }
  Values at = {row, first};
  if (isWhole)
    vector::StoreOp::create(b, x, to, at);
  else
    vector::MaskedStoreOp::create(b, to, at, below(x.getType(), count), x);
}

Value transformer::loadWords(Emit &b, Value words, Value row, Value first, int64_t columns,
                             int64_t count) {
  return loadColumns(b, VectorType::get({columns / 2}, b.getI32Type()), words, row, b.div(first, 2),
                     llvm::divideCeil(count, 2));
}

Value transformer::emitNumbers(Emit &b, Value words) {
  int64_t count = 2 * cast<VectorType>(words.getType()).getNumElements();
  auto halves = VectorType::get({count}, b.getBF16Type());
  Value numbers = vector::BitCastOp::create(b, halves, words);
  return arith::ExtFOp::create(b, halves.clone(b.getF32Type()), numbers);
}

Values transformer::loadTransposed(Emit &b, Value squares, Value which) {
  int64_t size = rowWidth(squares);
  VectorType words = VectorType::get({size}, b.getI32Type());
  Values square;
  for (int64_t i = 0; i < size; ++i)
    square.push_back(
        vector::LoadOp::create(b, words, squares, ValueRange{which, b.index(i), b.index(0)}));
  b.transposeSquare(square);
  return square;
}

/// What is rounded of the features of a row.
static Value roundedOf(Emit &b, cpu::Bfloat16RowsOp op, Value features) {
  std::optional<ActivationKind> activation = op.getActivation();
  return activation ? ActivationOp::create(b, *activation, features).getResult() : features;
}

/// A task makes the registers of as many rows as one has, from the first to the last.
static void emitRegisters(Emit &b, cpu::Bfloat16RowsOp op, const Work &work) {
  Value x = op.getX(), out = op.getOuts()[0];
  int64_t size = rowWidth(out), parts = cast<MemRefType>(out.getType()).getDimSize(2);
  int64_t k = rowWidth(x), whole = k / (2 * size), rest = k % (2 * size);
  VectorType features = VectorType::get({2 * size}, b.getF32Type());
  Value rows = b.dim(x, 0), zero = b.index(0);
  b.parallel(work, {rows}, b.ceilDiv(rows, size), [&](Value block) {
    auto [lower, upper] = taskRange(b, block, size, rows);
    auto emit = [&](Value step, int64_t count) {
      b.forEach(lower, upper, 1, [&](Value row) {
        Value of = roundedOf(b, op, loadColumns(b, features, x, row, b.mul(step, 2 * size), count));
        for (auto [part, words] : llvm::enumerate(emitNeighbourPairs(b, of, parts)))
          vector::StoreOp::create(b, words, out,
                                  ValueRange{block, step, b.index(part), b.sub(row, lower), zero});
      });
    };
    b.forEach(zero, b.index(whole), 1, [&](Value step) { emit(step, 2 * size); });
    if (rest)
      emit(b.index(whole), rest);
  });
}

void transformer::emitNest(Emit &b, cpu::Bfloat16RowsOp op) {
  Value x = op.getX(), out = op.getOuts()[0];
  Work work = rowWork("bfloat16_rows", "tokens", rowWidth(x), 2);
  if (cast<MemRefType>(out.getType()).getRank() == 5)
    return emitRegisters(b, op, work);
  VectorType type = VectorType::get({weightGroup}, b.getF32Type());
  forEachGroup(b, work, x, [&](Value row, Value group, int64_t count) {
    Value column = b.mul(group, weightGroup);
    b.prefetchRow(x, b.add(row, 1), column, count);
    Value features = roundedOf(b, op, loadColumns(b, type, x, row, column, count));
    int64_t end = rowWidth(x) / weightGroup * weightGroup + weightGroup; // of the last
    bool hasRoom = rowWidth(out) >= end / 2;
    storeColumns(b, features, out, row, column, hasRoom ? weightGroup : count);
  });
}
