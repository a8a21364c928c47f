//===- Dropout.h - what dropout multiplies numbers by -----------*- C++ -*-===//
#ifndef CODEGEN_GPU_NESTS_DROPOUT_H
#define CODEGEN_GPU_NESTS_DROPOUT_H

#include "codegen/gpu/nests/Loops.h"

namespace mlir::transformer::simt {

/// Factors of rows of numbers, 0 or 1 / (1 - rate), drawn as `transformer.dropout` says: a counter
/// has four columns, eight apart, in a group of 32.
struct DropoutFactors {
  static constexpr int64_t group = 32, lanes = 8;

  Loops &b;
  Value key; // i64
  double rate;
  Value stream; // index

  /// The factors of the columns lane, lane + 8, lane + 16 and lane + 24 of a group of a row's.
  Values draw(Value row, Value group, Value lane) const;
  /// The one of a column.
  Value of(Value row, Value column) const;
};

} // namespace mlir::transformer::simt

#endif // CODEGEN_GPU_NESTS_DROPOUT_H
