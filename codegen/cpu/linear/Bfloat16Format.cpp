//===- Bfloat16Format.cpp - weights in bfloat16 ---------------------------===//
#include "codegen/cpu/linear/Formats.h"
#include "codegen/cpu/linear/OneProductFormat.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

struct Bfloat16Format : OneProductFormat {
  StringRef name() const override { return "bf16"; }
  std::optional<WeightFormat> weightFormat() const override { return WeightFormat::Bf16; }
  int64_t columnBytes(int64_t k) const override { return 2 * k; }

  ArrayRef<LinearTerm> terms() const override {
    static const LinearTerm product = {
        {0}, [](ImplicitLocOpBuilder &b, ArrayRef<Value> x, ArrayRef<Value> w, Value sum) {
          return emitMultiplyAdd(b, x[0], arith::ExtFOp::create(b, sum.getType(), w[0]), sum);
        }};
    return product;
  }

  LinearFactors emitFactors(ImplicitLocOpBuilder &b, const LinearOperands &operands,
                            int64_t columns) const override {
    int64_t panels = llvm::divideCeil(operands.outputs(), columns);
    Type element = b.getBF16Type();
    return {operands.x,
            emitPackedWeight(b, operands, {}, {panels, operands.inputs(), columns}, element),
            {},
            {},
            {}};
  }
};

} // namespace

const LinearFormat &mlir::transformer::bfloat16Format() {
  static const Bfloat16Format format;
  return format;
}
