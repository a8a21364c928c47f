//===- Bfloat16PairsFormat.cpp - rows and weights in bfloat16 -------------===//
//
// A step is a word of two features: instructions multiply both and add them to a float32 sum.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/linear/Formats.h"
#include "codegen/cpu/linear/Words.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

struct Bfloat16PairsFormat : LinearFormat {
  StringRef name() const override { return "bf16-pairs"; }
  std::optional<WeightFormat> weightFormat() const override { return WeightFormat::Bf16; }
  bool readsRoundedRows() const override { return true; }
  bool fits(cpu::TargetAttr target, const LinearOperands &) const override {
    return target.multipliesBfloat16();
  }

  int64_t tileRows(cpu::TargetAttr target) const override { return target.tileRows(); }
  int64_t tileColumns(cpu::TargetAttr target) const override { return target.panelColumns(); }
  FewRowsTile fewRowsTile(cpu::TargetAttr target) const override {
    return FewRowsTile::of(target, target.getStreams(), target.tileVectors());
  }

  int64_t columnBytes(int64_t k) const override { return 2 * k; }
  int64_t rowBytes(int64_t k) const override { return 2 * k; }
  int64_t products() const override { return 2; }
  int64_t places() const override { return 1; }
  int64_t panelRows() const override { return 1; }
  int64_t sumSteps() const override { return 128; }

  void addStep(ImplicitLocOpBuilder &b, const LinearStep &step,
               MutableArrayRef<Value> sums) const override {
    for (int64_t p = 0; p < step.panels; ++p) {
      Value w = step.w(p, 0);
      for (int64_t i = 0; i < step.rows; ++i) {
        Value &sum = sums[i * step.panels + p];
        sum = cpu::DotBfloat16Op::create(b, sum.getType(), w, step.x(i, 0), sum);
      }
    }
  }

  LinearFactors emitFactors(ImplicitLocOpBuilder &b, const LinearOperands &operands,
                            int64_t columns) const override {
    int64_t steps = llvm::divideCeil(operands.inputs(), products());
    int64_t panels = llvm::divideCeil(operands.outputs(), columns);
    return {roundRows(b, operands.x, steps),
            emitPackedWeight(b, operands, {}, {panels, steps, columns}, b.getI32Type())};
  }
};

} // namespace

const LinearFormat &mlir::transformer::bfloat16PairsFormat() {
  static const Bfloat16PairsFormat format;
  return format;
}
