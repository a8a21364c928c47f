//===- Bfloat16MatrixFormat.cpp - bfloat16 in matrix registers ------------===//
//
// For CPUs whose registers hold whole matrices of words and multiply them: x86's AMX. A tile is two
// by two of them (MatrixProducts.cpp).
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/linear/Bfloat16Pairs.h"
#include "codegen/cpu/linear/Formats.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

struct Bfloat16MatrixFormat : Bfloat16Pairs {
  StringRef name() const override { return "bf16-matrix"; }
  bool fits(cpu::TargetAttr target, int64_t) const override { return target.matrixRows(); }
  bool usesMatrixRegisters() const override { return true; }

  int64_t tileRows(cpu::TargetAttr target) const override { return 2 * target.matrixRows(); }
  int64_t tileColumns(cpu::TargetAttr target) const override { return 2 * target.matrixRows(); }

  /// Words of a row in whole registers, and rows in whole registers. Rows that are a power of two
  /// of lines apart would share a few lines of the first-level cache: they are an odd number apart.
  LinearFactors emitFactors(ImplicitLocOpBuilder &b, const LinearOperands &operands,
                            int64_t columns) const override {
    int64_t size = columns / 2; // of a register
    int64_t matrices = llvm::divideCeil(operands.inputs(), products() * size);
    Value tokens = tensor::DimOp::create(b, operands.x, 0);
    Value ofRegister = arith::ConstantIndexOp::create(b, size);
    Value rows = arith::CeilDivUIOp::create(b, tokens, ofRegister);
    rows = arith::MulIOp::create(b, rows, ofRegister);
    LinearFactors all = factors(b, operands, size * matrices, columns,
                                {rows, b.getIndexAttr(size * (matrices | 1))});
    OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
    all.x = tensor::ExtractSliceOp::create(
        b, RankedTensorType::get({ShapedType::kDynamic, size * matrices}, b.getI32Type()), all.x,
        ArrayRef<OpFoldResult>{zero, zero},
        ArrayRef<OpFoldResult>{tokens, b.getIndexAttr(size * matrices)},
        ArrayRef<OpFoldResult>{one, one});
    return all;
  }
};

} // namespace

const LinearFormat &mlir::transformer::bfloat16MatrixFormat() {
  static const Bfloat16MatrixFormat format;
  return format;
}
