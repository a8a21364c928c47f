//===- StepParts.h - the rows of a step in parts ----------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_STEPPARTS_H
#define TRANSFORMER_RUNTIME_STEPPARTS_H

#include "runtime/abi/Description.h"
#include "runtime/base/Tensor.h"

namespace transformer::runtime {

/// The inputs of a step in parts of its rows, which differ by one row at most.
class StepParts {
public:
  /// `inputs` are named as those of `entry`, `count` is at least 1. Throws Error when no input has
  /// rows.
  StepParts(const EntryInfo &entry, TensorMap inputs, int64_t count);

  int64_t count() const { return parts; }

  /// Whether a part, of 0 <= `part` < count(), has no row.
  bool isEmpty(int64_t part) const { return begin(part) == begin(part + 1); }

  /// Its inputs.
  TensorMap inputs(int64_t part) const;

private:
  int64_t begin(int64_t part) const { return rows * part / parts; }

  const EntryInfo &entry;
  TensorMap all;
  int64_t parts, rows = 0;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_STEPPARTS_H
