//===- Convert.cpp - cvt --------------------------------------------------===//
//
// Integers go by way of 64 bits, floats by way of double: each is exact, so that
// there is one rounding, at the end.
//
//===----------------------------------------------------------------------===//
#include "test/emulator/decode/Lanes.h"
#include "test/emulator/decode/Narrow.h"

#include <algorithm>
#include <cfenv>

namespace emulator {
namespace {

enum Flag { Sat = 1, SatFinite = 2, Relu = 4, FtzOut = 8, FtzIn = 16, ToInteger = 32 };

bool isFloat(Type type) {
  return type == Type::F16 || type == Type::BF16 || type == Type::F32 || type == Type::F64 ||
         type == Type::TF32;
}
bool isSigned(Type type) {
  return type == Type::S8 || type == Type::S16 || type == Type::S32 || type == Type::S64;
}

struct Conversion {
  Type to, from;
  Round round;
  int flags;
  int toBytes, fromBytes; ///< of the registers
};

uint64_t readBits(const std::byte *at, int bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, bytes);
  return bits;
}

int64_t extended(uint64_t bits, Type type) {
  int width = ptx::bytesOf(type) * 8;
  if (width == 64)
    return bits;
  bits &= (uint64_t{1} << width) - 1;
  return isSigned(type) ? int64_t(bits << (64 - width)) >> (64 - width) : int64_t(bits);
}

double toDouble(uint64_t bits, Type type) {
  switch (type) {
  case Type::F16:
    return halfToFloat(bits);
  case Type::BF16:
    return bfloatToFloat(bits);
  case Type::F64:
    return std::bit_cast<double>(bits);
  default:
    return std::bit_cast<float>(uint32_t(bits));
  }
}

double flush(double value) {
  return std::fabs(value) < 0x1p-126 ? std::copysign(0.0, value) : value;
}

uint64_t fromDouble(double value, const Conversion &c) {
  if (c.flags & ToInteger)
    value = std::copysign(roundedToInteger(value, c.round), value);
  if (c.flags & Sat)
    value = value > 0 ? std::min(value, 1.0) : 0;
  if ((c.flags & Relu) && value < 0)
    value = 0;
  double largest = c.to == Type::F16 ? 65504 : c.to == Type::BF16 ? 0x1.fep127 : 0x1.ffcp127;
  if ((c.flags & SatFinite) && std::fabs(value) > largest)
    value = std::copysign(largest, value);
  switch (c.to) {
  case Type::F16:
    return floatToHalf(value, c.round);
  case Type::BF16:
    return floatToBfloat(value, c.round);
  case Type::F64:
    return std::bit_cast<uint64_t>(value);
  case Type::TF32:
    return std::isnan(value) ? 0x7fffffff
                             : std::bit_cast<uint32_t>(roundToTensorFloat(value, c.round));
  default:
    value = roundToFloat(value, c.round);
    return std::bit_cast<uint32_t>(float(c.flags & FtzOut ? flush(value) : value));
  }
}

// Out of range becomes the nearest number that there is, NaN 0.
uint64_t toInteger(double value, const Conversion &c) {
  if (std::isnan(value))
    return 0;
  value = roundedToInteger(value, c.round);
  int width = ptx::bytesOf(c.to) * 8 - isSigned(c.to);
  double above = std::ldexp(1.0, width);
  if (value >= above)
    return width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  if (!isSigned(c.to))
    return value <= 0 ? 0 : uint64_t(value);
  return value < -above ? ~((uint64_t{1} << width) - 1) : uint64_t(int64_t(value));
}

// 64 bits do not fit into a double: rounded where they become a float.
uint64_t integerToFloat(int64_t value, const Conversion &c) {
  bool unsignedSource = !isSigned(c.from);
  constexpr int modes[] = {FE_TONEAREST, FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  if (c.to == Type::F32 || c.to == Type::F64) {
    std::fesetround(modes[int(c.round)]);
    volatile int64_t held = value;
    volatile float single = unsignedSource ? float(uint64_t(held)) : float(int64_t(held));
    volatile double both = unsignedSource ? double(uint64_t(held)) : double(int64_t(held));
    std::fesetround(FE_TONEAREST);
    return c.to == Type::F32 ? std::bit_cast<uint32_t>(float(single))
                             : std::bit_cast<uint64_t>(double(both));
  }
  return fromDouble(unsignedSource ? double(uint64_t(value)) : double(value), c);
}

uint64_t saturated(int64_t value, const Conversion &c) {
  int width = ptx::bytesOf(c.to) * 8 - isSigned(c.to);
  bool huge = !isSigned(c.from) && value < 0; // an unsigned number of 64 bits
  if (!huge && value < 0)
    return isSigned(c.to) ? (width < 63 ? std::max(value, -(int64_t{1} << width)) : value) : 0;
  uint64_t largest = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  return std::min(uint64_t(value), largest);
}

uint64_t convert(uint64_t bits, const Conversion &c) {
  if (isFloat(c.from)) {
    double value = toDouble(bits, c.from);
    if (c.flags & FtzIn)
      value = flush(value);
    return isFloat(c.to) ? fromDouble(value, c) : toInteger(value, c);
  }
  int64_t value = extended(bits, c.from);
  if (isFloat(c.to))
    return integerToFloat(value, c);
  return c.flags & Sat ? saturated(value, c) : uint64_t(value);
}

// Any conversion: `immediate` and the variants say which.
void general(Warp &w, const Instruction &in, Mask mask) {
  Conversion c{Type(in.variant),
               Type(in.variant2),
               Round(in.immediate & 0xff),
               int(in.immediate >> 8 & 0xff),
               int(in.immediate >> 16 & 0xff),
               int(in.immediate >> 24 & 0xff)};
  auto *d = w.reg<std::byte>(in.op[0]);
  auto *a = w.in<std::byte>(in.op[1]);
  eachLane(mask, [&](int i) {
    uint64_t bits = convert(readBits(a + i * c.fromBytes, c.fromBytes), c);
    if (!isFloat(c.to)) // a wider register gets all of it
      bits = extended(bits, c.to);
    std::memcpy(d + i * c.toBytes, &bits, c.toBytes);
  });
}

// Two floats into the halves of a register, the first into the upper one.
void pack(Warp &w, const Instruction &in, Mask mask) {
  Conversion c{
      Type(in.variant), Type::F32, Round(in.immediate & 0xff), int(in.immediate >> 8 & 0xff), 2, 4};
  auto *d = w.reg<uint32_t>(in.op[0]);
  auto *a = w.in<uint32_t>(in.op[1]), *b = w.in<uint32_t>(in.op[2]);
  eachLane(mask,
           [&](int i) { d[i] = uint32_t(convert(a[i], c)) << 16 | uint32_t(convert(b[i], c)); });
}

template <typename D, typename A> void cast(Warp &w, const Instruction &in, Mask mask) {
  unary<D, A, [](A a) { return static_cast<D>(a); }>(w, in, mask);
}

// Those that every kernel has, as vector code.
Handler common(Type to, Type from, bool plain) {
  struct {
    Type to, from;
    Handler handler;
  } constexpr handlers[] = {
      {Type::U64, Type::U32, cast<uint64_t, uint32_t>},
      {Type::S64, Type::S32, cast<int64_t, int32_t>},
      {Type::U32, Type::U64, cast<uint32_t, uint64_t>},
      {Type::F64, Type::F32, cast<double, float>},
      {Type::F32, Type::F64, cast<float, double>},
      {Type::F32, Type::S32, cast<float, int32_t>},
      {Type::F32, Type::BF16, unary<float, uint16_t, [](uint16_t a) { return bfloatToFloat(a); }>},
      {Type::F32, Type::F16, unary<float, uint16_t, [](uint16_t a) { return halfToFloat(a); }>}};
  for (const auto &known : handlers)
    if (plain && known.to == to && known.from == from)
      return known.handler;
  return nullptr;
}

Round roundOf(const Decoder &d) {
  if (d.has("rna"))
    return Round::NearestAway;
  if (d.has("rz") || d.has("rzi"))
    return Round::Zero;
  if (d.has("rm") || d.has("rmi"))
    return Round::Down;
  if (d.has("rp") || d.has("rpi"))
    return Round::Up;
  return Round::Nearest;
}

void decode(Decoder &d) {
  Type to = d.type(1), from = d.type();
  Round round = roundOf(d);
  bool integral = d.has("rni") || d.has("rzi") || d.has("rmi") || d.has("rpi");
  int flags = (d.has("sat") ? Sat : 0) | (d.has("satfinite") ? SatFinite : 0) |
              (d.has("relu") ? Relu : 0) | (d.has("ftz") && to == Type::F32 ? FtzOut : 0) |
              (d.has("ftz") && from == Type::F32 ? FtzIn : 0) |
              (integral && isFloat(to) && isFloat(from) ? ToInteger : 0);
  int64_t how = int64_t(round) | flags << 8;
  if (to == Type::F16x2 || to == Type::BF16x2) {
    if (from != Type::F32 || d.numOperands() != 3)
      d.unknown();
    Instruction &in = d.add(pack, {d.destination(0, 4), d.source(1, 4), d.source(2, 4)});
    in.variant = uint8_t(to == Type::F16x2 ? Type::F16 : Type::BF16);
    in.immediate = how;
    return;
  }
  if (d.numOperands() != 2 || to == Type::Pred || from == Type::Pred)
    d.unknown();
  // Registers may be wider than the types.
  int toBytes = std::max({d.registerBytes(d.operand(0)), ptx::bytesOf(to), 2});
  int fromBytes = std::max({d.registerBytes(d.operand(1)), ptx::bytesOf(from), 2});
  bool exact = toBytes == ptx::bytesOf(to) && fromBytes == ptx::bytesOf(from);
  bool plain = exact && !flags && round == Round::Nearest;
  Handler handler = common(to, from, plain);
  Place source = isFloat(from) ? d.source(1, from) : d.source(1, fromBytes);
  Instruction &in = d.add(handler ? handler : general, {d.destination(0, toBytes), source});
  in.variant = uint8_t(to);
  in.variant2 = uint8_t(from);
  in.immediate = how | int64_t(toBytes) << 16 | int64_t(fromBytes) << 24;
}

} // namespace

void addConvert(Table &table) { table["cvt"] = decode; }

} // namespace emulator
