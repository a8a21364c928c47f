//===- Compare.cpp - setp and selp ----------------------------------------===//
#include "test/emulator/decode/Lanes.h"
#include "test/emulator/decode/Narrow.h"

#include <algorithm>
#include <map>

namespace emulator {
namespace {

enum Comparison { Eq, Ne, Lt, Le, Gt, Ge, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan };
enum Combination { None, And, Or, Xor };

// "u": also true of NaN; C++'s != is that, and the others are not.
template <int comparison, typename T> bool holds(T a, T b) {
  if constexpr (comparison == Eq)
    return a == b;
  if constexpr (comparison == Ne)
    return a < b || a > b;
  if constexpr (comparison == Lt)
    return a < b;
  if constexpr (comparison == Le)
    return a <= b;
  if constexpr (comparison == Gt)
    return a > b;
  if constexpr (comparison == Ge)
    return a >= b;
  if constexpr (comparison == Equ)
    return !(a < b || a > b);
  if constexpr (comparison == Neu)
    return a != b;
  if constexpr (comparison == Ltu)
    return !(a >= b);
  if constexpr (comparison == Leu)
    return !(a > b);
  if constexpr (comparison == Gtu)
    return !(a <= b);
  if constexpr (comparison == Geu)
    return !(a < b);
  if constexpr (comparison == Num)
    return a == a && b == b;
  return a != a || b != b;
}

struct Half {
  uint16_t bits;
  operator float() const { return halfToFloat(bits); }
};
struct Bfloat {
  uint16_t bits;
  operator float() const { return bfloatToFloat(bits); }
};
template <typename T> struct Flushed {
  T value;
  operator T() const { return std::fabs(value) < std::numeric_limits<T>::min() ? T{0} : value; }
};
template <typename T> struct Value {
  using type = T;
};
template <> struct Value<Half> {
  using type = float;
};
template <> struct Value<Bfloat> {
  using type = float;
};
template <typename T> struct Value<Flushed<T>> {
  using type = T;
};

Mask combined(int combination, Mask a, Mask b) {
  return combination == None ? a : combination == And ? a & b : combination == Or ? a | b : a ^ b;
}

// p|q: q combines the opposite of the comparison.
template <typename T, int comparison> void compare(Warp &w, const Instruction &in, Mask mask) {
  using V = typename Value<T>::type;
  const T *a = w.in<T>(in.op[1]), *b = w.in<T>(in.op[2]);
  Mask result = 0;
  for (int i = 0; i < lanes; ++i)
    result |= Mask(holds<comparison>(V(a[i]), V(b[i]))) << i;
  Mask other = in.variant ? w.bits(in.op[3]) ^ (in.variant2 ? allLanes : 0) : 0;
  Mask &p = *w.reg<Mask>(in.op[0]);
  if (in.op[4] != nowhere) {
    Mask &q = *w.reg<Mask>(in.op[4]);
    q = (q & ~mask) | (combined(in.variant, ~result, other) & mask);
  }
  p = (p & ~mask) | (combined(in.variant, result, other) & mask);
}

template <typename T> Handler comparing(int comparison) {
  static constexpr Handler handlers[] = {
      compare<T, Eq>,  compare<T, Ne>,  compare<T, Lt>,  compare<T, Le>,  compare<T, Gt>,
      compare<T, Ge>,  compare<T, Equ>, compare<T, Neu>, compare<T, Ltu>, compare<T, Leu>,
      compare<T, Gtu>, compare<T, Geu>, compare<T, Num>, compare<T, Nan>};
  return handlers[comparison];
}

Handler comparing(Type type, int comparison, bool ftz) {
  switch (type) {
  case Type::F16:
    return comparing<Half>(comparison);
  case Type::BF16:
    return comparing<Bfloat>(comparison);
  case Type::F32:
    return ftz ? comparing<Flushed<float>>(comparison) : comparing<float>(comparison);
  case Type::F64:
    return comparing<double>(comparison);
  default:
    return comparison > Ge
               ? nullptr
               : forInteger(type, [=]<typename T>() { return comparing<T>(comparison); });
  }
}

void decodeSetp(Decoder &d) {
  static const std::map<std::string, int> comparisons = {
      {"eq", Eq},   {"ne", Ne},   {"lt", Lt},   {"le", Le},   {"gt", Gt},   {"ge", Ge},
      {"lo", Lt},   {"ls", Le},   {"hi", Gt},   {"hs", Ge},   {"equ", Equ}, {"neu", Neu},
      {"ltu", Ltu}, {"leu", Leu}, {"gtu", Gtu}, {"geu", Geu}, {"num", Num}, {"nan", Nan}};
  Type type = d.type();
  auto found = comparisons.find(d.statement().parts[1]);
  Handler handler =
      found == comparisons.end() ? nullptr : comparing(type, found->second, d.has("ftz"));
  if (!handler)
    d.unknown();
  const ptx::Operand &first = d.operand(0);
  bool two = first.kind == ptx::Operand::Vector;
  Instruction &in = d.add(handler, {d.destination(two ? first.elements.at(0) : first, 0),
                                    d.source(1, type), d.source(2, type)});
  if (two)
    in.op[4] = d.destination(first.elements.at(1), 0);
  in.variant = d.has("and") ? And : d.has("or") ? Or : d.has("xor") ? Xor : None;
  if (in.variant) {
    in.op[3] = d.source(3, 0);
    in.variant2 = d.operand(3).negated;
  }
}

template <typename T> void select(Warp &w, const Instruction &in, Mask mask) {
  T *d = w.reg<T>(in.op[0]);
  const T *a = w.in<T>(in.op[1]), *b = w.in<T>(in.op[2]);
  Mask which = w.bits(in.op[3]);
  forLanes(mask, [=](int i) { d[i] = which >> i & 1 ? a[i] : b[i]; });
}

void decodeSelp(Decoder &d) {
  int bytes = ptx::bytesOf(d.type());
  d.add(bytes == 2   ? select<uint16_t>
        : bytes == 4 ? select<uint32_t>
                     : select<uint64_t>,
        {d.destination(0, bytes), d.source(1, d.type()), d.source(2, d.type()), d.source(3, 0)});
}

} // namespace

void addCompare(Table &table) {
  table["setp"] = decodeSetp;
  table["selp"] = decodeSelp;
}

} // namespace emulator
