//===- NarrowFormat.h - formats of one narrow number a weight -------------===//
#ifndef CODEGEN_CPU_LINEAR_NARROWFORMAT_H
#define CODEGEN_CPU_LINEAR_NARROWFORMAT_H

#include "codegen/cpu/linear/LinearFormat.h"

namespace mlir::transformer {

/// A multiply-add a product, whose weight becomes float32 in the registers, and sums in the order
/// of `f32`.
class NarrowFormat : public LinearFormat {
public:
  int64_t tileRows(cpu::TargetAttr target) const override { return target.tileRows(); }
  int64_t tileColumns(cpu::TargetAttr target) const override { return target.panelColumns(); }
  /// As many as read a cache line for each k, which is what keeps memory busy, and leave half of
  /// the registers to weights.
  int64_t tilePanels(cpu::TargetAttr target) const override {
    int64_t line = target.getLineBytes() / (tileColumns(target) * columnBytes(1));
    return std::clamp(line, int64_t(1), target.getVectorRegisters() / (2 * target.tileVectors()));
  }
  int64_t products() const override { return 1; }
  int64_t sumSteps() const override { return 256; }
};

} // namespace mlir::transformer

#endif // CODEGEN_CPU_LINEAR_NARROWFORMAT_H
