//===- IntegerFormat.cpp - rows and weights as integers -------------------===//
//
// A step is a group of 32 products, summed in 32 bits without rounding. Bytes of weights have an
// offset added; what that adds to a sum depends on the row alone, and the sum starts from its
// opposite.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/linear/Formats.h"
#include "codegen/cpu/linear/Int4.h"
#include "codegen/cpu/linear/Integers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::integers;

namespace {

struct IntegerFormat : LinearFormat {
  bool readsRoundedRows() const override { return true; }

  /// Integer sums of a group and the sums of all take registers, and weights of a word.
  int64_t tileRows(cpu::TargetAttr target) const override {
    return target.getVectorRegisters() >= 32 ? 6 : 2;
  }
  int64_t tileColumns(cpu::TargetAttr target) const override { return target.panelColumns(); }
  /// The chain of additions is that of a group, so one panel keeps a core busy.
  FewRowsTile fewRowsTile(cpu::TargetAttr target) const override {
    int64_t most = target.getVectorRegisters() / (4 * target.tileVectors());
    return {1, std::min(target.getStreams(), most)};
  }
  int64_t rowBytes(int64_t k) const override {
    return llvm::divideCeil(k, weightGroup) * kPlaces * kBytes;
  }

  int64_t products() const override { return weightGroup; }
  int64_t places() const override { return kPlaces; }
  int64_t sumSteps() const override { return 1024 / weightGroup; }

  /// The bytes of word `word` of a panel, from its rows.
  virtual Value bytes(ImplicitLocOpBuilder &b, function_ref<Value(int64_t row)> w,
                      int64_t word) const = 0;
  virtual bool areNibbles() const = 0;

  void addStep(ImplicitLocOpBuilder &b, const LinearStep &step,
               MutableArrayRef<Value> sums) const override {
    SmallVector<Value> dots;
    for (int64_t i = 0; i < step.rows; ++i)
      dots.append(step.panels, step.x(i, kStart));
    for (int64_t word = 0; word < kWords; ++word)
      for (int64_t p = 0; p < step.panels; ++p) {
        Value w = bytes(b, [&](int64_t row) { return step.w(p, row); }, word);
        for (int64_t i = 0; i < step.rows; ++i) {
          Value &dot = dots[i * step.panels + p];
          dot = cpu::DotBytesOp::create(b, dot.getType(), w, step.x(i, word), dot, areNibbles());
        }
      }
    for (int64_t p = 0; p < step.panels; ++p) {
      Value ofPanel = scaleOf(step, p);
      for (int64_t i = 0; i < step.rows; ++i) {
        Value scale = arith::BitcastOp::create(b, step.sum, step.x(i, kScale));
        if (ofPanel)
          scale = arith::MulFOp::create(b, scale, ofPanel);
        Value dot = arith::SIToFPOp::create(b, step.sum, dots[i * step.panels + p]);
        Value &sum = sums[i * step.panels + p];
        sum = emitMultiplyAdd(b, dot, scale, sum);
      }
    }
  }

  /// Of a group's weights; null where columns have one scale.
  virtual Value scaleOf(const LinearStep &step, int64_t panel) const { return {}; }

  Value emitRows(ImplicitLocOpBuilder &b, const LinearOperands &operands, int64_t offset) const {
    Value tokens = tensor::DimOp::create(b, operands.x, 0);
    int64_t groups = llvm::divideCeil(operands.inputs(), weightGroup);
    SmallVector<int64_t> shape = {ShapedType::kDynamic, groups, kPlaces};
    Value empty = tensor::EmptyOp::create(b, shape, b.getI32Type(), tokens);
    return cpu::IntegerRowsOp::create(b, TypeRange{empty.getType()}, operands.x, ValueRange{empty},
                                      offset)
        .getResult(0);
  }
};

struct Int8IntegerFormat : IntegerFormat {
  StringRef name() const override { return "int8-integer"; }
  std::optional<WeightFormat> weightFormat() const override { return WeightFormat::Int8; }
  int64_t columnBytes(int64_t k) const override { return llvm::alignTo(k, weightGroup); }
  int64_t panelRows() const override { return kWords; }
  bool areNibbles() const override { return false; }

  Value bytes(ImplicitLocOpBuilder &, function_ref<Value(int64_t)> w, int64_t word) const override {
    return w(word);
  }

  LinearFactors emitFactors(ImplicitLocOpBuilder &b, const LinearOperands &operands,
                            int64_t columns) const override {
    int64_t panels = llvm::divideCeil(operands.outputs(), columns);
    int64_t groups = llvm::divideCeil(operands.inputs(), weightGroup);
    Value scales = emitWeightScales(b, operands, 1, columns, b.getF32Type());
    AffineExpr p = b.getAffineDimExpr(1), j = b.getAffineDimExpr(2);
    AffineMap column = AffineMap::get(3, 0, {p, b.getAffineConstantExpr(0), j}, b.getContext());
    return {
        emitRows(b, operands, kInt8Offset),
        emitPackedWeight(b, operands, scales, {panels, groups, kWords, columns}, b.getI32Type()),
        {scales},
        {column},
        {}};
  }

  Value finish(ImplicitLocOpBuilder &b, ArrayRef<Value> scales, Value sum) const override {
    return arith::MulFOp::create(b, sum, scales[0]);
  }
};

struct Int4IntegerFormat : IntegerFormat {
  StringRef name() const override { return "int4-integer"; }
  std::optional<WeightFormat> weightFormat() const override { return WeightFormat::Int4; }
  int64_t columnBytes(int64_t k) const override { return int4Format().columnBytes(k); }
  int64_t panelRows() const override { return int4::kWords; }
  bool areNibbles() const override { return true; }

  Value bytes(ImplicitLocOpBuilder &b, function_ref<Value(int64_t)> w,
              int64_t word) const override {
    constexpr int64_t wordsOfRow = kWords / int4::kWords;
    Value row = w(word / wordsOfRow);
    if (word % wordsOfRow)
      row = arith::ShRUIOp::create(b, row, emitWord(b, row, 4));
    return arith::AndIOp::create(b, row, emitWord(b, row, 0x0f0f0f0f));
  }

  Value scaleOf(const LinearStep &step, int64_t panel) const override { return step.scale(panel); }

  LinearFactors emitFactors(ImplicitLocOpBuilder &b, const LinearOperands &operands,
                            int64_t columns) const override {
    int64_t panels = llvm::divideCeil(operands.outputs(), columns);
    int64_t groups = llvm::divideCeil(operands.inputs(), weightGroup);
    LinearFactors factors;
    factors.x = emitRows(b, operands, kInt4Offset);
    factors.scales = emitWeightScales(b, operands, groups, columns, b.getBF16Type());
    factors.panels = emitPackedWeight(b, operands, factors.scales,
                                      {panels, groups, int4::kWords, columns}, b.getI32Type());
    return factors;
  }
};

} // namespace

const LinearFormat &mlir::transformer::int8IntegerFormat() {
  static const Int8IntegerFormat format;
  return format;
}

const LinearFormat &mlir::transformer::int4IntegerFormat() {
  static const Int4IntegerFormat format;
  return format;
}
