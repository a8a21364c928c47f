//===- CostInterface.h - what an op costs ---------------------------------===//
#ifndef DIALECT_COSTINTERFACE_H
#define DIALECT_COSTINTERFACE_H

#include "mlir/IR/OpDefinition.h"

namespace mlir::transformer {

/// Floating-point operations of a matrix product.
struct Cost {
  /// For each row of `rows` or, where `keys` is there, for each pair of a query
  /// of the sequences `rows` and a key of the same one of `keys`.
  int64_t flops;
  Value rows;
  Value keys = {};
  /// Only pairs of a key that is not behind its query.
  bool causal = false;
};

/// What an op's results have as many rows (or sequences) of as what.
enum class RowOrigin {
  Operands,  // the rows of its first operand that has some
  Mask,      // the tokens of its mask, which is its last operand
  Sequences, // one for each sequence of its first operand
  Fixed,     // a fixed number for each sequence: its attribute `length`
  Result,    // those of the sequences that are its last operand
};

} // namespace mlir::transformer

#include "dialect/CostInterface.h.inc"

#endif // DIALECT_COSTINTERFACE_H
