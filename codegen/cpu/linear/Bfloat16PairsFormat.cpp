//===- Bfloat16PairsFormat.cpp - rows and weights in bfloat16 -------------===//
//
// Instructions multiply a word's two features and add them to a float32 sum.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/linear/Bfloat16Pairs.h"
#include "codegen/cpu/linear/Formats.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::transformer;

void Bfloat16Pairs::addStep(ImplicitLocOpBuilder &b, const LinearStep &step,
                            MutableArrayRef<Value> sums) const {
  for (int64_t p = 0; p < step.panels; ++p) {
    Value w = step.w(p, 0);
    for (int64_t i = 0; i < step.rows; ++i) {
      Value &sum = sums[i * step.panels + p];
      sum = cpu::DotBfloat16Op::create(b, sum.getType(), w, step.x(i, 0), sum);
    }
  }
}

LinearFactors Bfloat16Pairs::factors(ImplicitLocOpBuilder &b, const LinearOperands &operands,
                                     int64_t steps, int64_t columns,
                                     ArrayRef<OpFoldResult> memory) {
  int64_t panels = llvm::divideCeil(operands.outputs(), columns);
  Value empty = tensor::EmptyOp::create(b, memory, b.getI32Type());
  Value rows =
      cpu::Bfloat16RowsOp::create(b, TypeRange{empty.getType()}, operands.x, ValueRange{empty})
          .getResult(0);
  return {rows,
          emitPackedWeight(b, operands, {}, {panels, steps, columns}, b.getI32Type()),
          {},
          {},
          {}};
}

namespace {

struct Bfloat16PairsFormat : Bfloat16Pairs {
  StringRef name() const override { return "bf16-pairs"; }
  bool fits(cpu::TargetAttr target, int64_t) const override { return target.multipliesBfloat16(); }

  int64_t tileRows(cpu::TargetAttr target) const override { return target.tileRows(); }
  int64_t tileColumns(cpu::TargetAttr target) const override { return target.panelColumns(); }
  FewRowsTile fewRowsTile(cpu::TargetAttr target) const override {
    return FewRowsTile::of(target, target.getStreams(), target.tileVectors());
  }

  LinearFactors emitFactors(ImplicitLocOpBuilder &b, const LinearOperands &operands,
                            int64_t columns) const override {
    int64_t steps = llvm::divideCeil(operands.inputs(), products());
    Value tokens = tensor::DimOp::create(b, operands.x, 0);
    return factors(b, operands, steps, columns, {tokens, b.getIndexAttr(steps)});
  }
};

} // namespace

const LinearFormat &mlir::transformer::bfloat16PairsFormat() {
  static const Bfloat16PairsFormat format;
  return format;
}
