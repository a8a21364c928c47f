//===- Integer.cpp - integer arithmetic -----------------------------------===//
//
// Overflow wraps: this file is compiled with -fwrapv. What PTX leaves open when a
// number is divided by 0 is all ones, as on NVIDIA's.
//
//===----------------------------------------------------------------------===//
#include "test/emulator/decode/Lanes.h"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace emulator {
namespace {

template <typename T>
using Wide = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;

constexpr auto divide = []<typename T>(T a, T b) -> T {
  if (b == 0)
    return static_cast<T>(~T{0});
  if constexpr (std::is_signed_v<T>)
    if (b == -1)
      return static_cast<T>(-a);
  return a / b;
};
constexpr auto remainder = []<typename T>(T a, T b) -> T {
  if (b == 0)
    return a;
  if constexpr (std::is_signed_v<T>)
    if (b == -1)
      return 0;
  return a % b;
};
constexpr auto high = []<typename T>(T a, T b) -> T {
  return static_cast<T>(Wide<T>(a) * b >> sizeof(T) * 8);
};

template <auto F> Handler same2(Type type) {
  return forInteger(type, []<typename T>() -> Handler { return binary<T, T, T, F>; });
}
template <auto F> Handler same3(Type type) {
  return forInteger(type, []<typename T>() -> Handler { return ternary<T, T, T, F>; });
}

// The condition code is a predicate of the kernel.
template <typename T, bool subtract> void withCarry(Warp &w, const Instruction &in, Mask mask) {
  T *d = w.reg<T>(in.op[0]);
  const T *a = w.in<T>(in.op[1]), *b = w.in<T>(in.op[2]);
  Mask &carry = *w.reg<Mask>(in.op[3]);
  bool takes = in.variant & 1, sets = in.variant & 2;
  eachLane(mask, [&](int i) {
    using U = unsigned __int128;
    U before = takes ? carry >> i & 1 : 0;
    U sum = subtract ? U(a[i]) - b[i] - before : U(a[i]) + b[i] + before;
    d[i] = static_cast<T>(sum);
    if (sets)
      carry = (carry & ~(1u << i)) | Mask(sum >> sizeof(T) * 8 & 1) << i;
  });
}

void decodeCarry(Decoder &d, bool subtract, bool takes) {
  Type type = d.type();
  int bytes = ptx::bytesOf(type);
  Handler handler = bytes == 4
                        ? (subtract ? withCarry<uint32_t, true> : withCarry<uint32_t, false>)
                        : (subtract ? withCarry<uint64_t, true> : withCarry<uint64_t, false>);
  addSame(d, handler, bytes == 4 || bytes == 8 ? type : Type::None, 2);
  d.kernel.code.back().op[3] = d.carry();
  d.kernel.code.back().variant = takes | (d.has("cc") ? 2 : 0);
}

constexpr auto saturated = []<typename T>(int64_t value) {
  return std::clamp<int64_t>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
};

template <typename T> T mulLo(T a, T b) { return static_cast<T>(Wide<T>(a) * b); }

// mul and mad: .lo, .hi, .wide.
void decodeProduct(Decoder &d, bool adds) {
  Type type = d.type();
  if (d.has("wide")) {
    int bytes = ptx::bytesOf(type);
    Handler handler = forInteger(type, [&]<typename T>() -> Handler {
      if constexpr (sizeof(T) == 8)
        return nullptr;
      else if (adds)
        return ternary<Wide<T>, T, Wide<T>, [](T a, T b, Wide<T> c) { return Wide<T>(a) * b + c; }>;
      else
        return binary<Wide<T>, T, T, [](T a, T b) { return Wide<T>(a) * b; }>;
    });
    if (!handler)
      d.unknown();
    Instruction &in =
        d.add(handler, {d.destination(0, 2 * bytes), d.source(1, bytes), d.source(2, bytes)});
    if (adds)
      in.op[3] = d.source(3, 2 * bytes);
    return;
  }
  bool hi = d.has("hi");
  if (!hi && !d.has("lo"))
    d.unknown();
  addSame(
      d,
      forInteger(type,
                 [&]<typename T>() -> Handler {
                   if (adds)
                     return hi ? ternary<T, T, T, [](T a, T b, T c) { return high(a, b) + c; }>
                               : ternary<T, T, T, [](T a, T b, T c) { return mulLo(a, b) + c; }>;
                   return hi ? binary<T, T, T, [](T a, T b) { return high(a, b); }>
                             : binary<T, T, T, [](T a, T b) { return mulLo(a, b); }>;
                 }),
      type, adds ? 3 : 2);
}

template <bool subtract> void decodeSum(Decoder &d) {
  Type type = d.type();
  if (d.has("cc"))
    return decodeCarry(d, subtract, false);
  if (d.has("sat") && type == Type::S32)
    return addSame(d,
                   binary<int32_t, int32_t, int32_t,
                          [](int64_t a, int64_t b) {
                            return saturated.operator()<int32_t>(subtract ? a - b : a + b);
                          }>,
                   type, 2);
  addSame(d, same2<[](auto a, auto b) { return subtract ? a - b : a + b; }>(type), type, 2);
}

// dp4a.atype.btype: four products of bytes, and c.
template <typename A, typename B> void dotOfBytes(Warp &w, const Instruction &in, Mask mask) {
  int32_t *d = w.reg<int32_t>(in.op[0]);
  const A *a = w.in<A>(in.op[1]);
  const B *b = w.in<B>(in.op[2]);
  const int32_t *c = w.in<int32_t>(in.op[3]);
  eachLane(mask, [&](int i) {
    int32_t sum = c[i];
    for (int k = 0; k < 4; ++k)
      sum += a[4 * i + k] * b[4 * i + k];
    d[i] = sum;
  });
}

void decodeDotOfBytes(Decoder &d) {
  bool a = d.type(1) == Type::S32, b = d.type() == Type::S32;
  addSame(d,
          a ? (b ? dotOfBytes<int8_t, int8_t> : dotOfBytes<int8_t, uint8_t>)
            : (b ? dotOfBytes<uint8_t, int8_t> : dotOfBytes<uint8_t, uint8_t>),
          Type::B32, 3);
}

} // namespace

// add, sub, mul, mad, div, min, max, neg and abs of floats are in Float.cpp and Half.cpp, which ask
// here for what is left: see Float.cpp.
bool decodeInteger(Decoder &d) {
  const std::string &word = d.statement().parts[0];
  Type type = d.type();
  if (!forInteger(type, []<typename T>() -> Handler { return binary<T, T, T, divide>; }))
    return false;
  if (word == "add")
    decodeSum<false>(d);
  else if (word == "sub")
    decodeSum<true>(d);
  else if (word == "mul" || word == "mad")
    decodeProduct(d, word == "mad");
  else if (word == "div")
    addSame(d, same2<divide>(type), type, 2);
  else if (word == "min")
    addSame(d, same2<[]<typename T>(T a, T b) { return a < b ? a : b; }>(type), type, 2);
  else if (word == "max")
    addSame(d, same2<[]<typename T>(T a, T b) { return a > b ? a : b; }>(type), type, 2);
  else if (word == "neg")
    addSame(d,
            forInteger(type,
                       []<typename T>() -> Handler { return unary<T, T, [](T a) { return -a; }>; }),
            type, 1);
  else if (word == "abs")
    addSame(d,
            forInteger(type,
                       []<typename T>() -> Handler {
                         return unary<T, T, [](T a) { return a < T{0} ? -a : a; }>;
                       }),
            type, 1);
  else
    return false;
  return true;
}

void addInteger(Table &table) {
  table["rem"] = [](Decoder &d) { addSame(d, same2<remainder>(d.type()), d.type(), 2); };
  table["addc"] = [](Decoder &d) { decodeCarry(d, false, true); };
  table["subc"] = [](Decoder &d) { decodeCarry(d, true, true); };
  table["dp4a"] = decodeDotOfBytes;
}

} // namespace emulator
