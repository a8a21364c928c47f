//===- Bfloat16Pairs.h - words of two bfloat16 as steps ---------*- C++ -*-===//
#ifndef CODEGEN_CPU_LINEAR_BFLOAT16PAIRS_H
#define CODEGEN_CPU_LINEAR_BFLOAT16PAIRS_H

#include "codegen/cpu/linear/LinearFormat.h"

namespace mlir::transformer {

/// A step is a word of two features, whose products are added to a float32 sum.
class Bfloat16Pairs : public LinearFormat {
public:
  std::optional<WeightFormat> weightFormat() const override { return WeightFormat::Bf16; }
  bool readsRoundedRows() const override { return true; }

  int64_t columnBytes(int64_t k) const override { return 2 * k; }
  int64_t rowBytes(int64_t k) const override { return 2 * k; }
  int64_t products() const override { return 2; }
  int64_t places() const override { return 1; }
  int64_t panelRows() const override { return 1; }
  int64_t sumSteps() const override { return 128; }

  void addStep(ImplicitLocOpBuilder &b, const LinearStep &step,
               MutableArrayRef<Value> sums) const override;

protected:
  /// Factors of `steps` words, zeros behind the features that there are; x has the sizes `memory`,
  /// and where that is more than the rows and steps, anything.
  static LinearFactors factors(ImplicitLocOpBuilder &b, const LinearOperands &operands,
                               int64_t steps, int64_t columns, ArrayRef<OpFoldResult> memory);
};

} // namespace mlir::transformer

#endif // CODEGEN_CPU_LINEAR_BFLOAT16PAIRS_H
