#include "runtime/base/DataType.h"
#include "test/runtime/TestSupport.h"

#include <bit>
#include <cmath>
#include <limits>

using namespace transformer::runtime;

namespace {

TEST(DataType, HalfToFloatIsExactForAllBits) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    int exponent = int(bits >> 10 & 31);
    auto fraction = double(bits & 0x3FF);
    double expected = exponent == 0    ? std::ldexp(fraction, -24)
                      : exponent == 31 ? std::numeric_limits<double>::infinity()
                                       : std::ldexp(1024 + fraction, exponent - 25);
    float found = halfToFloat(static_cast<uint16_t>(bits));
    ASSERT_EQ(std::signbit(found), bits >= 0x8000);
    if (exponent == 31 && fraction != 0)
      ASSERT_TRUE(std::isnan(found));
    else
      ASSERT_EQ(std::fabs(double(found)), expected) << bits;
  }
}

TEST(DataType, Bfloat16ToFloatKeepsBits) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits)
    ASSERT_EQ(std::bit_cast<uint32_t>(bfloat16ToFloat(uint16_t(bits))), bits << 16);
}

TEST(DataType, IntegersFromEverything) {
  int64_t out[3];
  const int32_t narrow[] = {-1, 0, INT32_MAX};
  EXPECT_EQ(convertToInt64(DataType::I32, narrow, out, 3), -1);
  EXPECT_EQ(out[0], -1);
  EXPECT_EQ(out[2], INT32_MAX);
  const uint8_t flags[] = {0, 1, 255};
  EXPECT_EQ(convertToInt64(DataType::Bool, flags, out, 3), -1);
  EXPECT_EQ(out[2], 1);
  EXPECT_EQ(convertToInt64(DataType::U8, flags, out, 3), -1);
  EXPECT_EQ(out[2], 255);
  const uint64_t wide[] = {1, uint64_t(INT64_MAX), uint64_t(INT64_MAX) + 1};
  EXPECT_EQ(convertToInt64(DataType::U64, wide, out, 3), 2);
  const float real[] = {1, -2, 2.5f};
  EXPECT_EQ(convertToInt64(DataType::F32, real, out, 2), -1);
  EXPECT_EQ(out[1], -2);
  EXPECT_EQ(convertToInt64(DataType::F32, real, out, 3), 2);
  const double odd[] = {NAN, INFINITY, 1e300};
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(convertToInt64(DataType::F64, odd + i, out, 1), 0);
}

TEST(DataType, Names) {
  EXPECT_EQ(parseSafetensorsName("BF16"), DataType::BF16);
  EXPECT_EQ(parseSafetensorsName("bf16"), std::nullopt);
  EXPECT_EQ(parseDescriptionName("bf16"), DataType::BF16);
  EXPECT_EQ(parseDescriptionName("BF16"), std::nullopt);
  EXPECT_EQ(byteWidth(DataType::I16), 2);
  EXPECT_EQ(safetensorsName(DataType::Bool), "BOOL");
}

} // namespace
