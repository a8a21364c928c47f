//===- Float32Format.cpp - one multiply-add a product ---------------------===//
#include "codegen/cpu/linear/Formats.h"
#include "codegen/cpu/linear/OneProductFormat.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

struct Float32Format : OneProductFormat {
  StringRef name() const override { return "f32"; }

  ArrayRef<LinearTerm> terms() const override {
    static const LinearTerm product = {
        {0}, [](ImplicitLocOpBuilder &b, ArrayRef<Value> x, ArrayRef<Value> w, Value sum) {
          return emitMultiplyAdd(b, x[0], w[0], sum);
        }};
    return product;
  }

  LinearFactors emitFactors(ImplicitLocOpBuilder &b, const LinearOperands &operands,
                            int64_t columns) const override {
    int64_t panels = llvm::divideCeil(operands.outputs(), columns);
    return {operands.x,
            emitPackedWeight(b, operands, {}, {panels, operands.inputs(), columns}, b.getF32Type()),
            {},
            {},
            {}};
  }
};

} // namespace

const LinearFormat &mlir::transformer::float32Format() {
  static const Float32Format format;
  return format;
}
