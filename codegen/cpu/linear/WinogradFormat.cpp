//===- WinogradFormat.cpp - Winograd's inner product ----------------------===//
#include "codegen/cpu/dialect/CpuDialect.h"
#include "codegen/cpu/linear/Formats.h"
#include "codegen/cpu/linear/Winograd.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

using Factors = ArrayRef<Value>;

/// (w1 + x0)(w0 + x1).
Value addPair(ImplicitLocOpBuilder &b, Factors x, Factors w, Value sum) {
  Value left = arith::AddFOp::create(b, w[1], x[0]), right = arith::AddFOp::create(b, w[0], x[1]);
  return emitMultiplyAdd(b, left, right, sum);
}

/// -(w4 - x3)(w3 - x4).
Value subtractPair(ImplicitLocOpBuilder &b, Factors x, Factors w, Value sum) {
  Value left = arith::SubFOp::create(b, w[1], x[0]), right = arith::SubFOp::create(b, w[0], x[1]);
  return emitMultiplySubtract(b, left, right, sum);
}

Value addProduct(ImplicitLocOpBuilder &b, Factors x, Factors w, Value sum) {
  return emitMultiplyAdd(b, x[0], w[0], sum);
}

struct WinogradFormat : LinearFormat {
  StringRef name() const override { return "winograd"; }
  bool fits(cpu::TargetAttr target, const LinearOperands &operands) const override {
    return target.getWinogradVectors() && operands.inputs() >= target.getWinogradLeastK();
  }

  // One vector wide: x is added from memory, once a row, and takes no register.
  int64_t tileRows(cpu::TargetAttr target) const override {
    int64_t sums = target.getVectorRegisters() >= 32 ? 16 : 8;
    return sums / target.getWinogradVectors();
  }
  int64_t tileColumns(cpu::TargetAttr target) const override {
    return target.getVectorLanes() * target.getWinogradVectors();
  }

  FewRowsTile fewRowsTile(cpu::TargetAttr target) const override {
    constexpr int64_t streams = 4; // as multiply-adds
    int64_t vectors = target.getWinogradVectors();
    return vectors > 1 ? FewRowsTile::of(target, streams, vectors) : FewRowsTile{1, 1};
  }

  int64_t products() const override { return winograd::kStep; }
  ArrayRef<LinearTerm> terms() const override {
    static_assert(winograd::kStep == 6);
    static const LinearTerm terms[] = {
        {{0, 1}, addPair}, {{2}, addProduct}, {{3, 4}, subtractPair}, {{5}, addProduct}};
    return terms;
  }
  int64_t sumSteps() const override { return winograd::kSumSteps; }

  LinearFactors emitFactors(ImplicitLocOpBuilder &b, const LinearOperands &operands,
                            int64_t columns) const override {
    auto empty = [&](ArrayRef<int64_t> shape, ValueRange sizes) -> Value {
      return tensor::EmptyOp::create(b, shape, b.getF32Type(), sizes);
    };
    int64_t k = operands.inputs(), steps = winograd::steps(k);
    Value ofFeatures = empty({k}, {});
    Value scales =
        cpu::WinogradScalesOp::create(b, TypeRange{ofFeatures.getType()}, operands.weight,
                                      operands.squares, ofFeatures, operands.layout)
            .getResult(0);
    Value tokens = tensor::DimOp::create(b, operands.x, 0);
    Value scaled = empty({ShapedType::kDynamic, steps, winograd::kStep}, tokens);
    Value inverses = empty({ShapedType::kDynamic, columns}, tokens);
    auto rows = cpu::WinogradRowsOp::create(b, TypeRange{scaled.getType(), inverses.getType()},
                                            operands.x, scales, ValueRange{scaled, inverses});
    int64_t count = llvm::divideCeil(operands.outputs(), columns);
    Value panels = emitPackedWeight(b, operands, scales, {count, steps, winograd::kStep, columns},
                                    b.getF32Type());
    // The inverse scales of rows, and those of columns in step 0 of the panels.
    AffineMap row = b.getMultiDimIdentityMap(3).dropResult(1);
    AffineExpr p = b.getAffineDimExpr(1), j = b.getAffineDimExpr(2);
    AffineExpr step0 = b.getAffineConstantExpr(0);
    AffineExpr place = b.getAffineConstantExpr(winograd::kInverseScale);
    AffineMap column = AffineMap::get(3, 0, {p, step0, place, j}, b.getContext());
    return {rows.getResult(0), panels, {rows.getResult(1), panels}, {row, column}, {}};
  }

  Value finish(ImplicitLocOpBuilder &b, ArrayRef<Value> scales, Value sum) const override {
    Value scale = arith::MulFOp::create(b, scales[0], scales[1]); // powers of two
    return arith::MulFOp::create(b, sum, scale);
  }
};

} // namespace

const LinearFormat &mlir::transformer::winogradFormat() {
  static const WinogradFormat format;
  return format;
}
