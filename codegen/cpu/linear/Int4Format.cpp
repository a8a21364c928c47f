//===- Int4Format.cpp - weights in 4 bits, a scale for each 32 ------------===//
#include "codegen/cpu/linear/Formats.h"
#include "codegen/cpu/linear/Int4.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::int4;

namespace {

/// The bits of weight u of a word like `like`.
Value maskOf(ImplicitLocOpBuilder &b, Value like, OpFoldResult u) {
  constexpr uint32_t first = 15, width = 4;
  if (std::optional<int64_t> constant = getConstantIntValue(u))
    return emitWord(b, like, first << (width * *constant));
  auto scalar = [&](uint32_t value) -> Value {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
  };
  Value place = arith::IndexCastOp::create(b, b.getI32Type(), cast<Value>(u));
  Value mask =
      arith::ShLIOp::create(b, scalar(first), arith::MulIOp::create(b, place, scalar(width)));
  if (!isa<VectorType>(like.getType()))
    return mask;
  return vector::BroadcastOp::create(b, like.getType(), mask);
}

struct Int4Format : LinearFormat {
  StringRef name() const override { return "int4"; }
  std::optional<WeightFormat> weightFormat() const override { return WeightFormat::Int4; }
  int64_t columnBytes(int64_t k) const override {
    return llvm::divideCeil(k, weightGroup) * (weightGroup / 2 + 2);
  }

  /// Four where there are 16 registers: with the sums of six rows, a word's weights and their mask
  /// LLVM spills some of them in every step.
  int64_t tileRows(cpu::TargetAttr target) const override {
    return std::min(target.tileRows(), target.getVectorRegisters() / (2 * target.tileVectors()));
  }
  int64_t tileColumns(cpu::TargetAttr target) const override { return target.panelColumns(); }
  /// Sums of groups and of all take half of the registers each.
  FewRowsTile fewRowsTile(cpu::TargetAttr target) const override {
    return {1, target.getVectorRegisters() / (4 * target.tileVectors())};
  }

  int64_t products() const override { return weightGroup; }
  int64_t places() const override { return kPlaces; }
  int64_t words() const override { return kWords; }
  /// It stays where it is in the word: a number of 16^u, which x carries the inverse of. The last
  /// one would be a sign.
  Value weightOfWord(ImplicitLocOpBuilder &b, Value word, OpFoldResult u,
                     Type type) const override {
    Value bits;
    if (getConstantIntValue(u) == kWord - 1)
      bits = arith::ShRUIOp::create(b, word, emitWord(b, word, 4 * (kWord - 1)));
    else
      bits = arith::AndIOp::create(b, word, maskOf(b, word, u));
    return arith::SIToFPOp::create(b, type, bits);
  }
  int64_t sumSteps() const override { return 256 / weightGroup; }

  LinearFactors emitFactors(ImplicitLocOpBuilder &b, const LinearOperands &operands,
                            int64_t columns) const override {
    int64_t groups = llvm::divideCeil(operands.inputs(), weightGroup);
    int64_t panels = llvm::divideCeil(operands.outputs(), columns);
    Value tokens = tensor::DimOp::create(b, operands.x, 0);
    SmallVector<int64_t> shape = {ShapedType::kDynamic, groups, words(), places()};
    Value empty = tensor::EmptyOp::create(b, shape, b.getF32Type(), tokens);
    auto rows =
        cpu::Int4RowsOp::create(b, TypeRange{empty.getType()}, operands.x, ValueRange{empty});
    Value scales = emitWeightScales(b, operands, groups, columns, b.getBF16Type());
    LinearFactors factors;
    factors.x = rows.getResult(0);
    factors.scales = scales;
    factors.panels =
        emitPackedWeight(b, operands, scales, {panels, groups, words(), columns}, b.getI32Type());
    return factors;
  }
};

} // namespace

const LinearFormat &mlir::transformer::int4Format() {
  static const Int4Format format;
  return format;
}
