//===- Float32Format.cpp - one multiply-add a product ---------------------===//
#include "codegen/cpu/linear/Formats.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

struct Float32Format : LinearFormat {
  StringRef name() const override { return "f32"; }

  int64_t tileRows(cpu::TargetAttr target) const override { return target.tileRows(); }
  int64_t tileColumns(cpu::TargetAttr target) const override { return target.panelColumns(); }

  /// A row alone waits for memory: four streams bring more than one.
  int64_t tilePanels(cpu::TargetAttr) const override { return 4; }

  int64_t products() const override { return 1; }
  ArrayRef<LinearTerm> terms() const override {
    static const LinearTerm product = {
        {0}, [](ImplicitLocOpBuilder &b, ArrayRef<Value> x, ArrayRef<Value> w, Value sum) {
          return emitMultiplyAdd(b, x[0], w[0], sum);
        }};
    return product;
  }
  int64_t sumSteps() const override { return 256; }

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
