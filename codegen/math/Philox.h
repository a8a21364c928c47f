//===- Philox.h - random numbers of a counter -----------------------------===//
#ifndef CODEGEN_MATH_PHILOX_H
#define CODEGEN_MATH_PHILOX_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <array>

namespace mlir::transformer {

/// Philox4x32-10 (Salmon et al. 2011) of i32, or of vectors of it, a counter a lane; or of i64,
/// whose lower halves are the numbers and whose upper halves are anything: then one multiplication
/// gives both halves of a product in their places, where a CPU's vectors have no other that does.
std::array<Value, 4> emitPhilox(ImplicitLocOpBuilder &b, std::array<Value, 2> key,
                                std::array<Value, 4> counter);

} // namespace mlir::transformer

#endif // CODEGEN_MATH_PHILOX_H
