//===- NarrowWeight.h - weights to narrow numbers -------------------------===//
//
// `transformer.quantize_weight` defines the numbers; its evaluation in dialect/reference is the
// same arithmetic.
//
//===----------------------------------------------------------------------===//
#ifndef CODEGEN_CPU_NESTS_NARROWWEIGHT_H
#define CODEGEN_CPU_NESTS_NARROWWEIGHT_H

#include "codegen/cpu/nests/Emit.h"

namespace mlir::transformer {

/// A linear layer's weight as panels of `columns` see it.
struct WeightReader {
  Emit &b;
  Value weight;
  WeightLayout layout;
  int64_t columns;

  int64_t inputs() const { return sizes().getDimSize(layout == WeightLayout::OutIn ? 1 : 0); }
  int64_t outputs() const { return sizes().getDimSize(layout == WeightLayout::OutIn ? 0 : 1); }

  /// Vectors of the columns from `column` of a panel on, for the `count` inputs from `first` on, at
  /// most as many as a vector has lanes; zeros from the panel's column `width` on.
  Values read(Value panel, int64_t column, int64_t width, Value first, int64_t count) const;

private:
  MemRefType sizes() const { return cast<MemRefType>(weight.getType()); }
};

/// bfloat16 from float32.
Value emitToBf16(Emit &b, Value x);
/// 8 bits of each weight over its scale.
Value emitToInt8(Emit &b, Value x, Value scale);
/// The words that hold eight weights each, two for each eight of x, of which the last may be fewer:
/// weights 8 i + 0, 2, 4 and 6 over their scale, plus 128, in the bytes of word 2 i, the others in
/// those of word 2 i + 1.
Values emitToInt8Words(Emit &b, ValueRange x, Value scale);
/// The words that hold eight weights each, of which the last may have fewer: weight 8 i + u over
/// its scale, plus 8, in the bits from 4 u of word i.
Values emitToInt4(Emit &b, ValueRange x, Value scale);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_NESTS_NARROWWEIGHT_H
