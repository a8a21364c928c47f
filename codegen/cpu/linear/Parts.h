//===- Parts.h - float32 as sums of bfloat16 --------------------*- C++ -*-===//
//
// Matrix registers multiply bfloat16 alone. A number of 24 bits is the sum of three of them with 8
// bits each, so a product of float32 is nine of theirs; of the three smallest two are at most 2^-24
// of it, as much as float32 rounds away, of either sign, and one far less (Henry, Tang and
// Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision
// Computations", ARITH 2019). So six are summed, in float32 as all sums.
//
// What is not finite in float32, and what rounds to infinity in bfloat16 (above 3.39e38), becomes
// NaN; parts below 2^-126 count as 0.
//
//===----------------------------------------------------------------------===//
#ifndef CODEGEN_CPU_LINEAR_PARTS_H
#define CODEGEN_CPU_LINEAR_PARTS_H

#include "mlir/Support/LLVM.h"
#include <cassert>
#include <cstdint>

namespace mlir::transformer::parts {

/// Of a number that is rounded, and of one that is not; part 0 is the largest.
constexpr int64_t kRounded = 1, kFloat32 = 3;

struct Product {
  int64_t x, w; // parts
};

/// What is summed of numbers of `count` parts: small ones first, each with a factor of the one
/// before it, which is still in its registers.
inline ArrayRef<Product> products(int64_t count) {
  static constexpr Product rounded[] = {{0, 0}};
  static constexpr Product float32[] = {{2, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 2}, {0, 0}};
  assert(count == kRounded || count == kFloat32);
  return count == kRounded ? ArrayRef(rounded) : ArrayRef(float32);
}

} // namespace mlir::transformer::parts

#endif // CODEGEN_CPU_LINEAR_PARTS_H
