//===- MatrixFormat.cpp - products in matrix registers --------------------===//
//
// For CPUs whose registers hold whole matrices of words and multiply them: x86's AMX. A tile is two
// by two of them (MatrixProducts.cpp). Rows and weights that are rounded to bfloat16 are one part;
// float32 is three (Parts.h), half as large again as the weight. So panels of parts are made where
// they are read: in training of the weight that each call gets, in inference of panels of float32,
// as far as rows are whole sequences. Few rows wait for memory, or for what splitting takes.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/linear/Formats.h"
#include "codegen/cpu/linear/Parts.h"
#include "dialect/StaysInCalls.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

class MatrixFormat : public LinearFormat {
public:
  MatrixFormat(StringRef name, int64_t parts) : title(name), parts(parts) {}

  StringRef name() const override { return title; }
  bool isRounded() const { return parts == parts::kRounded; }
  std::optional<WeightFormat> weightFormat() const override {
    return isRounded() ? std::optional(WeightFormat::Bf16) : std::nullopt;
  }
  bool readsRoundedRows() const override { return isRounded(); }
  bool fits(cpu::TargetAttr target, const LinearOperands &operands) const override {
    return target.matrixRows() && (isRounded() || operands.isOfCalls() || operands.isOfSequences());
  }
  bool usesMatrixRegisters() const override { return true; }

  int64_t tileRows(cpu::TargetAttr target) const override { return 2 * target.matrixRows(); }
  int64_t tileColumns(cpu::TargetAttr target) const override { return 2 * target.matrixRows(); }

  int64_t columnBytes(int64_t k) const override { return 2 * k * parts; }
  int64_t rowBytes(int64_t k) const override { return 2 * k * parts; }
  int64_t products() const override { return 2; }
  int64_t places() const override { return parts; }
  int64_t panelRows() const override { return parts; }
  int64_t sumSteps() const override { return 128; }

  void addStep(ImplicitLocOpBuilder &b, const LinearStep &step,
               MutableArrayRef<Value> sums) const override {
    for (auto [x, w] : parts::products(parts))
      for (int64_t p = 0; p < step.panels; ++p)
        for (int64_t i = 0; i < step.rows; ++i) {
          Value &sum = sums[i * step.panels + p];
          sum = cpu::DotBfloat16Op::create(b, sum.getType(), step.w(p, w), step.x(i, x), sum);
        }
  }

  /// Rows in registers, in the order in which products read them: what one thread has made, others
  /// read, and the hardware fetches ahead what follows in memory. To tile the product they are rows
  /// all the same; `multiply_matrices` reads the registers.
  LinearFactors emitFactors(ImplicitLocOpBuilder &b, const LinearOperands &operands,
                            int64_t columns) const override {
    int64_t size = columns / 2; // of a register
    int64_t matrices = llvm::divideCeil(operands.inputs(), products() * size);
    int64_t panels = llvm::divideCeil(operands.outputs(), columns);
    Type word = b.getI32Type();
    Value tokens = tensor::DimOp::create(b, operands.x, 0);
    Value rows = arith::CeilDivUIOp::create(b, tokens, arith::ConstantIndexOp::create(b, size));
    Value registers = tensor::EmptyOp::create(
        b, RankedTensorType::get({ShapedType::kDynamic, matrices, parts, size, size}, word), rows);
    registers = cpu::Bfloat16RowsOp::create(b, TypeRange{registers.getType()}, operands.x,
                                            ValueRange{registers}, ActivationKindAttr())
                    .getResult(0);
    Value x = tensor::EmptyOp::create(
        b, RankedTensorType::get({parts, ShapedType::kDynamic, size * matrices}, word), tokens);
    SmallVector<OpFoldResult> tiles(2, b.getIndexAttr(size));
    auto unpack = linalg::UnPackOp::create(b, registers, x,
                                           /*innerDimsPos=*/ArrayRef<int64_t>{1, 2}, tiles,
                                           /*outerDimsPerm=*/ArrayRef<int64_t>{1, 2, 0});
    unpack->setAttr(kStaysInCallsAttr, b.getUnitAttr()); // registers are what is kept
    x = unpack.getResult();
    SmallVector<int64_t> shape = {panels, parts, size * matrices, columns};
    if (isRounded() || operands.isOfCalls())
      return {x, emitPackedWeight(b, operands, {}, shape, word)};
    Value whole =
        emitPackedWeight(b, operands, {}, {panels, operands.inputs(), columns}, b.getF32Type());
    Value split = tensor::EmptyOp::create(b, shape, word);
    return {x, cpu::SplitPanelsOp::create(b, TypeRange{split.getType()}, whole, Value(), Value(),
                                          ValueRange{split}, /*ahead=*/false, /*inside=*/false)
                   .getResult(0)};
  }

private:
  StringRef title;
  int64_t parts;
};

} // namespace

const LinearFormat &mlir::transformer::bfloat16MatrixFormat() {
  static const MatrixFormat format("bf16-matrix", parts::kRounded);
  return format;
}

const LinearFormat &mlir::transformer::float32MatrixFormat() {
  static const MatrixFormat format("f32-matrix", parts::kFloat32);
  return format;
}
