//===- WeightGradientPack.h - tokens as a product over them reads -*- C++ -*-===//
#ifndef CODEGEN_CPU_NESTS_WEIGHTGRADIENTPACK_H
#define CODEGEN_CPU_NESTS_WEIGHTGRADIENTPACK_H

#include "codegen/cpu/nests/Emit.h"

namespace mlir::transformer {

/// Pieces of rows are fetched so many tokens ahead.
inline constexpr int64_t kTokensAhead = 8;

/// Of `rows` in strips of `height` those of a range, of which some may not be, with how many of a
/// strip's rows are.
void forEachStrip(Emit &b, std::pair<Value, Value> range, int64_t rows, int64_t height,
                  function_ref<void(Value strip, int64_t there)> body);

/// Of `there` columns the lanes of vector j that are.
int64_t lanesOfVector(const Emit &b, int64_t there, int64_t j);

/// `count` strips from `first` on, `[.., T, MR]` or words of two tokens `[.., ceil(T / 2), MR]`, of
/// x `[T, M]` with M = `rows`, or its words; of those behind the last there is nothing.
void packTokenStrips(Emit &b, Value x, int64_t rows, Value strips, Value first, int64_t count);

/// A panel, `[T, NR]` or words of two tokens, `[ceil(T / 2), NR]`, with `there` columns of dy
/// `[T, N]`, or of its words; for matrix registers in `parts` (linear/Parts.h), `[parts, steps,
/// NR]`, zeros to the end of a register.
void packTokenPanel(Emit &b, Value dy, Value panels, Value panel, int64_t there, int64_t parts,
                    Value steps);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_NESTS_WEIGHTGRADIENTPACK_H
