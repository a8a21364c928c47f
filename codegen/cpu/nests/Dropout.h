//===- Dropout.h - what dropout multiplies numbers by -----------*- C++ -*-===//
#ifndef CODEGEN_CPU_NESTS_DROPOUT_H
#define CODEGEN_CPU_NESTS_DROPOUT_H

#include "codegen/cpu/nests/Rows.h"

namespace mlir::transformer {

/// Factors of rows of numbers, 0 or 1 / (1 - rate), drawn as `transformer.dropout` says.
class DropoutFactors {
public:
  /// Columns whose factors are drawn together.
  static constexpr int64_t group = 32;

  /// `key` is an i64, `stream` an index.
  DropoutFactors(Emit &b, Value key, double rate, Value stream);

  /// Multiplies `buffer[at..., 0 .. columns - 1]` by the factors of a row's columns from `first`, a
  /// multiple of group, on; the last group as a whole.
  void multiplyGroups(Value buffer, ValueRange at, Value row, Value first, Value columns) const;

  /// Writes these factors to a buffer of one dimension.
  void storeGroups(Value buffer, Value row, Value first, Value columns) const;

  /// Calls `store` with `columns` of x's row times their factors.
  void multiplyRow(Value x, Value row, int64_t columns, StoreVector store) const;

private:
  /// The factors of group `number` of a row, in vectors of `lanes`.
  Values draw(Value row, Value number) const;
  void forEachVector(Value row, Value first, Value columns,
                     function_ref<void(Value column, Value factors)> body) const;
  Value splat(Value index) const;

  static constexpr int64_t lanes = 8;
  VectorType floats() const { return VectorType::get({lanes}, b.getF32Type()); }

  Emit &b;
  Value key, stream;
  double rate;
};

} // namespace mlir::transformer

#endif // CODEGEN_CPU_NESTS_DROPOUT_H
