//===- Philox.h - random numbers by their place -----------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_PHILOX_H
#define TRANSFORMER_RUNTIME_PHILOX_H

#include <array>
#include <cstdint>

namespace transformer::runtime {

/// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): four random
/// words of a counter and a key, with no state between calls.
constexpr std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter,
                                         std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t first = uint64_t(0xD2511F53) * counter[0], second = uint64_t(0xCD9E8D57) * counter[2];
    counter = {uint32_t(second >> 32) ^ counter[1] ^ key[0], uint32_t(second),
               uint32_t(first >> 32) ^ counter[3] ^ key[1], uint32_t(first)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

/// 0 <= result < 1 of a sequence's position: the same whatever else is drawn, and when. A position
/// may have several, which `draw` numbers.
inline double uniform(uint64_t seed, uint64_t sequence, uint32_t position, uint32_t draw = 0) {
  std::array<uint32_t, 4> words =
      philox({position, draw, uint32_t(sequence), uint32_t(sequence >> 32)},
             {uint32_t(seed), uint32_t(seed >> 32)});
  return double((uint64_t(words[0]) << 32 | words[1]) >> 11) * 0x1p-53;
}

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_PHILOX_H
