//===- Narrow.h - numbers of 16 bits and of fewer bits ----------*- C++ -*-===//
#ifndef EMULATOR_DECODE_NARROW_H
#define EMULATOR_DECODE_NARROW_H

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace emulator {

enum class Round : uint8_t { Nearest, NearestAway, Zero, Down, Up };

/// To f32, towards zero, as tensor cores round.
inline float truncated(double value) {
  auto nearest = float(value);
  return std::abs(double(nearest)) > std::abs(value) && std::isfinite(nearest)
             ? std::nextafter(nearest, 0.0f)
             : nearest;
}

/// `value`, an integer after scaling, rounded to one.
inline double roundedToInteger(double value, Round round) {
  switch (round) {
  case Round::Nearest:
    return std::nearbyint(value);
  case Round::NearestAway:
    return std::round(value);
  case Round::Zero:
    return std::trunc(value);
  case Round::Down:
    return std::floor(value);
  case Round::Up:
    return std::ceil(value);
  }
  return value;
}

/// The number with `mantissa` bits behind the point and exponents from `minimum` on (those of the
/// smallest normal number) that is next to `value`; overflow beyond `largest` is infinite, or
/// `largest` where rounding goes towards zero.
inline double roundedTo(double value, int mantissa, int minimum, double largest, Round round) {
  if (!std::isfinite(value) || value == 0)
    return value;
  int exponent = std::max(std::ilogb(value), minimum);
  double rounded = std::ldexp(roundedToInteger(std::ldexp(value, mantissa - exponent), round),
                              exponent - mantissa);
  if (std::fabs(rounded) <= largest)
    return std::copysign(rounded, value);
  bool stays = round == Round::Zero || (round == Round::Down && value > 0) ||
               (round == Round::Up && value < 0);
  return std::copysign(stays ? largest : std::numeric_limits<double>::infinity(), value);
}

inline double roundToHalf(double value, Round round) {
  return roundedTo(value, 10, -14, 65504, round);
}
inline double roundToBfloat(double value, Round round) {
  return roundedTo(value, 7, -126, 0x1.fep127, round);
}
inline float roundToFloat(double value, Round round) {
  return round == Round::Nearest
             ? float(value)
             : float(roundedTo(value, 23, -126, std::numeric_limits<float>::max(), round));
}
inline float roundToTensorFloat(double value, Round round) {
  return float(roundedTo(value, 10, -126, 0x1.ffcp127, round));
}

inline float halfToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, rest = bits & 0x7fff;
  if (rest >= 0x7c00)
    return std::bit_cast<float>(sign | 0x7f800000 | (rest & 0x3ff) << 13);
  // Scaling by 2^112 makes the exponents right, those of subnormal numbers too.
  float magnitude = std::bit_cast<float>(rest << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

inline float bfloatToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

inline uint16_t floatToHalf(double value, Round round = Round::Nearest) {
  if (std::isnan(value))
    return 0x7fff;
  double rounded = roundToHalf(value, round);
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  double magnitude = std::fabs(rounded);
  if (std::isinf(magnitude))
    return sign | 0x7c00;
  if (magnitude < 0x1p-14)
    return sign | uint16_t(magnitude * 0x1p24);
  int exponent = std::ilogb(magnitude);
  return sign |
         uint16_t((exponent + 15) << 10 | (int(std::ldexp(magnitude, 10 - exponent)) & 0x3ff));
}

inline uint16_t floatToBfloat(double value, Round round = Round::Nearest) {
  if (std::isnan(value))
    return 0x7fff;
  return std::bit_cast<uint32_t>(float(roundToBfloat(value, round))) >> 16;
}

/// a * b + c, rounded once to 53 bits such that rounding to fewer is as if from the exact sum.
inline double exactEnough(double a, double b, double c) {
  double product = a * b, sum = product + c; // the product of two narrow numbers is exact
  double back = sum - product;
  double error = (product - (sum - back)) + (c - back);
  if (error != 0 && std::isfinite(sum) && (std::bit_cast<uint64_t>(sum) & 1) == 0)
    sum = std::nextafter(sum, error > 0 ? HUGE_VAL : -HUGE_VAL);
  return sum;
}

} // namespace emulator

#endif // EMULATOR_DECODE_NARROW_H
