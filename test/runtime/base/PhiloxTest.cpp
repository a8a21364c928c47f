#include "runtime/base/Philox.h"

#include <gtest/gtest.h>

using namespace transformer::runtime;

namespace {

// The known answers of Random123's kat_vectors.
TEST(Philox, KnownAnswers) {
  using Words = std::array<uint32_t, 4>;
  static_assert(philox({0, 0, 0, 0}, {0, 0})[0] == 0x6627e8d5);
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, UniformDependsOnAllItIsGiven) {
  double one = uniform(1, 2, 3, 4);
  EXPECT_GE(one, 0);
  EXPECT_LT(one, 1);
  for (double other : {uniform(uint64_t(1) << 32 | 1, 2, 3, 4), uniform(2, 2, 3, 4),
                       uniform(1, uint64_t(1) << 32 | 2, 3, 4), uniform(1, 3, 3, 4),
                       uniform(1, 2, 4, 4), uniform(1, 2, 3, 5)})
    EXPECT_NE(other, one);
}

} // namespace
