//===- Int8Format.cpp - weights in 8 bits, a scale for each output --------===//
#include "codegen/cpu/linear/Formats.h"
#include "codegen/cpu/linear/OneProductFormat.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

struct Int8Format : OneProductFormat {
  StringRef name() const override { return "int8"; }
  std::optional<WeightFormat> weightFormat() const override { return WeightFormat::Int8; }
  int64_t columnBytes(int64_t k) const override { return k; }

  ArrayRef<LinearTerm> terms() const override {
    static const LinearTerm product = {
        {0}, [](ImplicitLocOpBuilder &b, ArrayRef<Value> x, ArrayRef<Value> w, Value sum) {
          return emitMultiplyAdd(b, x[0], arith::SIToFPOp::create(b, sum.getType(), w[0]), sum);
        }};
    return product;
  }

  LinearFactors emitFactors(ImplicitLocOpBuilder &b, const LinearOperands &operands,
                            int64_t columns) const override {
    int64_t panels = llvm::divideCeil(operands.outputs(), columns);
    Value scales = emitWeightScales(b, operands, 1, columns, b.getF32Type());
    AffineExpr p = b.getAffineDimExpr(1), j = b.getAffineDimExpr(2);
    AffineMap column = AffineMap::get(3, 0, {p, b.getAffineConstantExpr(0), j}, b.getContext());
    return {
        operands.x,
        emitPackedWeight(b, operands, scales, {panels, operands.inputs(), columns}, b.getI8Type()),
        {scales},
        {column},
        {}};
  }

  Value finish(ImplicitLocOpBuilder &b, ArrayRef<Value> scales, Value sum) const override {
    return arith::MulFOp::create(b, sum, scales[0]);
  }
};

} // namespace

const LinearFormat &mlir::transformer::int8Format() {
  static const Int8Format format;
  return format;
}
