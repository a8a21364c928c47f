//===- Draws.h - what the random numbers of data are for --------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_DRAWS_H
#define TRANSFORMER_RUNTIME_DRAWS_H

#include <cstdint>

namespace transformer::runtime::draws {

/// The last argument of uniform(): numbers for one purpose say nothing of those for another.
inline constexpr uint32_t rowOrder = 0, batchOrder = 1, chosen = 2, replaced = 3, randomToken = 4;

} // namespace transformer::runtime::draws

#endif // TRANSFORMER_RUNTIME_DRAWS_H
