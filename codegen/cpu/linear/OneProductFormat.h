//===- OneProductFormat.h - formats whose steps are one product -*- C++ -*-===//
#ifndef CODEGEN_CPU_LINEAR_ONEPRODUCTFORMAT_H
#define CODEGEN_CPU_LINEAR_ONEPRODUCTFORMAT_H

#include "codegen/cpu/linear/LinearFormat.h"

namespace mlir::transformer {

/// A multiply-add a product, whose weight, where it is narrow, becomes float32 in the registers.
/// All such formats sum in one order.
class OneProductFormat : public LinearFormat {
public:
  int64_t tileRows(cpu::TargetAttr target) const override { return target.productRows(); }
  int64_t tileColumns(cpu::TargetAttr target) const override { return target.productColumns(); }
  /// A row alone waits for memory: four streams bring more than one, eight no more than four.
  /// Without FMA products take registers, too.
  FewRowsTile fewRowsTile(cpu::TargetAttr target) const override {
    return FewRowsTile::of(target, target.getFma() ? 4 : 2, target.getProductVectors());
  }
  int64_t products() const override { return 1; }
  int64_t sumSteps() const override { return 256; }
};

} // namespace mlir::transformer

#endif // CODEGEN_CPU_LINEAR_ONEPRODUCTFORMAT_H
