//===- Int4.h - words of weights in 4 bits --------------------------------===//
#ifndef CODEGEN_CPU_LINEAR_INT4_H
#define CODEGEN_CPU_LINEAR_INT4_H

#include "dialect/QuantizeOps.h"

/// How `pack_weight` and `int4_rows` lay out weights in 4 bits and what they are multiplied by.
namespace mlir::transformer::int4 {

/// Weights in 32 bits, and words of a group.
inline constexpr int64_t kWord = 8, kWords = weightGroup / kWord;
/// Places of x in a word: a factor of each weight and what the group's sum starts from.
inline constexpr int64_t kPlaces = kWord + 1;

} // namespace mlir::transformer::int4

#endif // CODEGEN_CPU_LINEAR_INT4_H
