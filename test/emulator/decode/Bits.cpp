//===- Bits.cpp - logic, shifts and fields of bits ------------------------===//
#include "test/emulator/decode/Lanes.h"

#include <algorithm>
#include <type_traits>

namespace emulator {
namespace {

// Predicates are masks of the warp: all lanes at once.
template <auto F> void logicOfPredicates(Warp &w, const Instruction &in, Mask mask) {
  Mask &d = *w.reg<Mask>(in.op[0]);
  d = (d & ~mask) | (F(w.bits(in.op[1]), w.bits(in.op[2])) & mask);
}

template <auto F> void decodeLogic(Decoder &d) {
  Type type = d.type();
  if (type == Type::Pred) {
    d.add(logicOfPredicates<F>, {d.destination(0, 0), d.source(1, 0), d.source(2, 0)});
    return;
  }
  addSame(d, forInteger(type, []<typename T>() -> Handler { return binary<T, T, T, F>; }), type, 2);
}

void notOfPredicates(Warp &w, const Instruction &in, Mask mask) {
  Mask &d = *w.reg<Mask>(in.op[0]);
  d = (d & ~mask) | (~w.bits(in.op[1]) & mask);
}

void decodeNot(Decoder &d) {
  Type type = d.type();
  if (type == Type::Pred)
    d.add(notOfPredicates, {d.destination(0, 0), d.source(1, 0)});
  else
    addSame(d,
            forInteger(type,
                       []<typename T>() -> Handler { return unary<T, T, [](T a) { return ~a; }>; }),
            type, 1);
}

// Shifts by the width or more leave nothing, or the sign.
constexpr auto left = []<typename T>(T a, uint32_t by) -> T {
  return by < sizeof(T) * 8 ? static_cast<T>(std::make_unsigned_t<T>(a) << by) : T{0};
};
constexpr auto right = []<typename T>(T a, uint32_t by) -> T {
  return static_cast<T>(by < sizeof(T) * 8 ? a >> by : a < T{0} ? ~T{0} : T{0});
};

template <auto F> void decodeShift(Decoder &d) {
  Type type = d.type();
  Handler handler =
      forInteger(type, []<typename T>() -> Handler { return binary<T, T, uint32_t, F>; });
  if (!handler)
    d.unknown();
  int bytes = ptx::bytesOf(type);
  d.add(handler, {d.destination(0, bytes), d.source(1, bytes), d.source(2, 4)});
}

// d.b32 of a.b32 or a.b64.
template <auto F> void decodeCount(Decoder &d) {
  int bytes = ptx::bytesOf(d.type());
  Handler handler = bytes == 4 ? unary<uint32_t, uint32_t, F> : unary<uint32_t, uint64_t, F>;
  if (bytes != 4 && bytes != 8)
    d.unknown();
  d.add(handler, {d.destination(0, 4), d.source(1, bytes)});
}

constexpr auto reversed = []<typename T>(T a) {
  T result = 0;
  for (size_t i = 0; i < sizeof(T) * 8; ++i)
    result |= (a >> i & 1) << (sizeof(T) * 8 - 1 - i);
  return result;
};

// The highest bit that is not the sign.
constexpr auto highest = []<typename T>(T a) -> uint32_t {
  using U = std::make_unsigned_t<T>;
  U bits = a < T{0} ? ~U(a) : U(a);
  return bits ? std::bit_width(bits) - 1 : ~0u;
};

template <typename T> void extract(Warp &w, const Instruction &in, Mask mask) {
  T *d = w.reg<T>(in.op[0]);
  const T *a = w.in<T>(in.op[1]);
  const uint32_t *from = w.in<uint32_t>(in.op[2]), *count = w.in<uint32_t>(in.op[3]);
  constexpr uint32_t bits = sizeof(T) * 8;
  eachLane(mask, [&](int i) {
    uint32_t at = from[i] & 0xff, length = count[i] & 0xff;
    uint32_t last = std::min(at + length - 1, bits - 1);
    bool negative = std::is_signed_v<T> && length && (a[i] >> last & 1);
    using U = std::make_unsigned_t<T>;
    U field = length == 0 || at >= bits ? 0 : U(a[i]) >> at;
    if (length < bits) {
      U within = (U{1} << length) - 1;
      field = negative ? (field & within) | ~within : field & within;
    }
    d[i] = at >= bits && negative ? T(-1) : T(field);
  });
}

template <typename T> void insert(Warp &w, const Instruction &in, Mask mask) {
  T *d = w.reg<T>(in.op[0]);
  const T *a = w.in<T>(in.op[1]), *b = w.in<T>(in.op[2]);
  const uint32_t *from = w.in<uint32_t>(in.op[3]), *count = w.in<uint32_t>(in.op[4]);
  eachLane(mask, [&](int i) {
    uint32_t at = from[i] & 0xff, length = count[i] & 0xff;
    T within = length >= sizeof(T) * 8 ? ~T{0} : (T{1} << length) - 1;
    d[i] = at >= sizeof(T) * 8 ? b[i] : (b[i] & ~(within << at)) | (a[i] & within) << at;
  });
}

void decodeField(Decoder &d, bool inserts) {
  int bytes = ptx::bytesOf(d.type());
  bool isSigned = d.type() == Type::S32 || d.type() == Type::S64;
  Handler handler = inserts    ? (bytes == 4 ? insert<uint32_t> : insert<uint64_t>)
                    : isSigned ? (bytes == 4 ? extract<int32_t> : extract<int64_t>)
                               : (bytes == 4 ? extract<uint32_t> : extract<uint64_t>);
  if (bytes != 4 && bytes != 8)
    d.unknown();
  Instruction &in = d.add(handler, {d.destination(0, bytes), d.source(1, bytes)});
  size_t at = 2;
  if (inserts)
    in.op[at] = d.source(at, bytes), ++at;
  in.op[at] = d.source(at, 4);
  in.op[at + 1] = d.source(at + 1, 4);
}

constexpr auto permuted = [](uint32_t a, uint32_t b, uint32_t selector) {
  uint64_t bytes = uint64_t{b} << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    uint32_t which = selector >> 4 * i & 0xf;
    uint32_t byte = bytes >> (which & 7) * 8 & 0xff;
    if (which & 8)
      byte = byte & 0x80 ? 0xff : 0;
    result |= byte << 8 * i;
  }
  return result;
};

constexpr auto anyOfThree = [](uint32_t a, uint32_t b, uint32_t c, int table) {
  uint32_t result = 0;
  for (int i = 0; i < 8; ++i)
    if (table >> i & 1)
      result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return result;
};

// variant: 1 to the right, 2 by at most 32.
constexpr auto funnel = [](uint32_t a, uint32_t b, uint32_t by, int variant) {
  by = variant & 2 ? std::min(by, 32u) : by & 31;
  uint64_t both = uint64_t{b} << 32 | a;
  return uint32_t(variant & 1 ? both >> by : both << by >> 32);
};

} // namespace

void addBits(Table &table) {
  table["and"] = decodeLogic<[](auto a, auto b) { return a & b; }>;
  table["or"] = decodeLogic<[](auto a, auto b) { return a | b; }>;
  table["xor"] = decodeLogic<[](auto a, auto b) { return a ^ b; }>;
  table["not"] = decodeNot;
  table["cnot"] = [](Decoder &d) {
    addSame(
        d,
        forInteger(d.type(),
                   []<typename T>() -> Handler { return unary<T, T, [](T a) { return a == 0; }>; }),
        d.type(), 1);
  };
  table["shl"] = decodeShift<left>;
  table["shr"] = decodeShift<right>;
  table["popc"] = decodeCount<[](auto a) { return std::popcount(a); }>;
  table["clz"] = decodeCount<[](auto a) { return std::countl_zero(a); }>;
  table["brev"] = [](Decoder &d) {
    bool wide = ptx::bytesOf(d.type()) == 8;
    addSame(d, wide ? unary<uint64_t, uint64_t, reversed> : unary<uint32_t, uint32_t, reversed>,
            d.type(), 1);
  };
  table["bfind"] = [](Decoder &d) {
    Handler handler =
        forInteger(d.type(), []<typename T>() -> Handler { return unary<uint32_t, T, highest>; });
    if (!handler || d.has("shiftamt"))
      d.unknown();
    d.add(handler, {d.destination(0, 4), d.source(1, d.type())});
  };
  table["bfe"] = [](Decoder &d) { decodeField(d, false); };
  table["bfi"] = [](Decoder &d) { decodeField(d, true); };
  table["prmt"] = [](Decoder &d) {
    if (d.statement().parts.size() != 2)
      d.unknown(); // modes that nobody writes
    addSame(d, ternary<uint32_t, uint32_t, uint32_t, permuted>, Type::B32, 3);
  };
  table["lop3"] = [](Decoder &d) {
    if (d.numOperands() != 5)
      d.unknown();
    addSame(d, ternaryBy<uint32_t, uint32_t, anyOfThree>, Type::B32, 3);
    d.kernel.code.back().variant = d.operand(4).value;
  };
  table["shf"] = [](Decoder &d) {
    addSame(d, ternaryBy<uint32_t, uint32_t, funnel>, Type::B32, 3);
    d.kernel.code.back().variant = (d.has("r") ? 1 : 0) | (d.has("clamp") ? 2 : 0);
  };
}

} // namespace emulator
