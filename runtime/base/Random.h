//===- Random.h - random numbers, the same everywhere -----------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_RANDOM_H
#define TRANSFORMER_RUNTIME_RANDOM_H

#include <cstdint>

namespace transformer::runtime {

/// SplitMix64.
class Random {
public:
  /// 0 <= result < limit.
  int64_t below(int64_t limit) {
    return static_cast<int64_t>(next() % static_cast<uint64_t>(limit));
  }
  /// -1 <= result < 1.
  float symmetric() { return static_cast<float>(next() >> 40) * 0x1p-23f - 1.0f; }

private:
  uint64_t next() {
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }
  uint64_t state = 42;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_RANDOM_H
