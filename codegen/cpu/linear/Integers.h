//===- Integers.h - words of rows in 8 bits -------------------------------===//
#ifndef CODEGEN_CPU_LINEAR_INTEGERS_H
#define CODEGEN_CPU_LINEAR_INTEGERS_H

#include "dialect/QuantizeOps.h"

/// How `integer_rows` and `pack_weight` lay out what `dot_bytes` multiplies. Features 8 w + 2 i are
/// byte i of word 2 w and features 8 w + 2 i + 1 that of word 2 w + 1: the order in which the
/// nibbles of a word of eight weights become bytes.
namespace mlir::transformer::integers {

/// Products of a word, and words of a group.
inline constexpr int64_t kBytes = 4, kWords = weightGroup / kBytes;
/// Places of a group of a row behind its words: what its sum starts from, the bits of its scale.
inline constexpr int64_t kStart = kWords, kScale = kWords + 1, kPlaces = kWords + 2;
/// What is added to weights, so that bytes of them are not negative.
inline constexpr int64_t kInt8Offset = 128, kInt4Offset = 8;

} // namespace mlir::transformer::integers

#endif // CODEGEN_CPU_LINEAR_INTEGERS_H
