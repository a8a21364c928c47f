//===- Float.cpp - f32 and f64 arithmetic ---------------------------------===//
//
// Compiled without contraction: fma is fused, nothing else is. What PTX calls
// approximate is computed in double precision and rounded.
//
//===----------------------------------------------------------------------===//
#include "test/emulator/decode/Lanes.h"

#include <cfenv>
#include <cmath>
#include <limits>

namespace emulator {

bool decodeInteger(Decoder &);
bool decodeHalf(Decoder &);

namespace {

template <bool ftz, typename T> T flushed(T x) {
  if constexpr (ftz)
    return std::fabs(x) < std::numeric_limits<T>::min() ? std::copysign(T{0}, x) : x;
  return x;
}
template <typename T> T saturated(T x) { return x > T{0} ? (x < T{1} ? x : T{1}) : T{0}; }

enum Extra { Plain, Ftz, Sat, FtzSat };
template <Extra extra, typename T> T before(T x) {
  return flushed < extra == Ftz || extra == FtzSat > (x);
}
template <Extra extra, typename T> T after(T x) {
  x = before<extra>(x);
  return extra == Sat || extra == FtzSat ? saturated(x) : x;
}

// F of one, two or three numbers, with what .ftz and .sat add.
template <typename T, auto F, int count, Extra extra>
void apply(Warp &w, const Instruction &in, Mask mask) {
  T *d = w.reg<T>(in.op[0]);
  const T *a = w.in<T>(in.op[1]);
  const T *b = count > 1 ? w.in<T>(in.op[2]) : a;
  const T *c = count > 2 ? w.in<T>(in.op[3]) : a;
  forLanes(mask, [=](int i) {
    T x = before<extra>(a[i]), y = before<extra>(b[i]), z = before<extra>(c[i]);
    if constexpr (count == 1)
      d[i] = after<extra>(T(F(x)));
    else if constexpr (count == 2)
      d[i] = after<extra>(T(F(x, y)));
    else
      d[i] = after<extra>(T(F(x, y, z)));
  });
}

// Other roundings than to nearest: rare, so the host's mode is changed around each.
template <typename T, auto F, int count, Extra extra>
void applyRounded(Warp &w, const Instruction &in, Mask mask) {
  constexpr int modes[] = {FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  T *d = w.reg<T>(in.op[0]);
  const T *places[] = {w.in<T>(in.op[1]), count > 1 ? w.in<T>(in.op[2]) : nullptr,
                       count > 2 ? w.in<T>(in.op[3]) : nullptr};
  std::fesetround(modes[in.variant]);
  eachLane(mask, [&](int i) {
    volatile T x = before<extra>(places[0][i]), y = count > 1 ? before<extra>(places[1][i]) : T{0},
               z = count > 2 ? before<extra>(places[2][i]) : T{0}, result;
    if constexpr (count == 1)
      result = F(T(x));
    else if constexpr (count == 2)
      result = F(T(x), T(y));
    else
      result = F(T(x), T(y), T(z));
    d[i] = after<extra>(T(result));
  });
  std::fesetround(FE_TONEAREST);
}

template <typename T, auto F, int count> void decodeAs(Decoder &d) {
  bool ftz = d.has("ftz"), sat = d.has("sat");
  bool rz = d.has("rz"), rm = d.has("rm"), rp = d.has("rp");
  Handler handler;
  if (rz || rm || rp)
    handler = ftz && sat ? applyRounded<T, F, count, FtzSat>
              : ftz      ? applyRounded<T, F, count, Ftz>
              : sat      ? applyRounded<T, F, count, Sat>
                         : applyRounded<T, F, count, Plain>;
  else
    handler = ftz && sat ? apply<T, F, count, FtzSat>
              : ftz      ? apply<T, F, count, Ftz>
              : sat      ? apply<T, F, count, Sat>
                         : apply<T, F, count, Plain>;
  addSame(d, handler, sizeof(T) == 4 ? Type::B32 : Type::B64, count);
  d.kernel.code.back().variant = rz ? 0 : rm ? 1 : 2;
}

template <auto F, int count> void decodeArithmetic(Decoder &d) {
  Type type = d.type();
  if (type == Type::F32)
    decodeAs<float, F, count>(d);
  else if (type == Type::F64)
    decodeAs<double, F, count>(d);
  else if (!decodeHalf(d) && !decodeInteger(d))
    d.unknown();
}

// min and max: of a number and a NaN the number, unless .NaN; -0 is less than 0.
template <bool max, bool nan>
constexpr auto extremum = []<typename T>(T a, T b) -> T {
  if (std::isnan(a) || std::isnan(b)) {
    if (nan || (std::isnan(a) && std::isnan(b)))
      return std::numeric_limits<T>::quiet_NaN();
    return std::isnan(a) ? b : a;
  }
  if (a == b)
    return std::signbit(a) == max ? b : a;
  return (a < b) == max ? b : a;
};

template <bool max> void decodeExtremum(Decoder &d) {
  if (d.has("xorsign") || d.numOperands() != 3)
    d.unknown();
  if (d.has("NaN"))
    decodeArithmetic<extremum<max, true>, 2>(d);
  else
    decodeArithmetic<extremum<max, false>, 2>(d);
}

template <auto F> void decodeFunction(Decoder &d) {
  if (d.type() != Type::F32 && d.type() != Type::F64 && !decodeHalf(d))
    d.unknown();
  if (d.type() == Type::F32)
    decodeAs<float, F, 1>(d);
  else if (d.type() == Type::F64)
    decodeAs<double, F, 1>(d);
}

enum Property { Finite, Infinite, Number, NotANumber, Normal, Subnormal };
template <typename T> void test(Warp &w, const Instruction &in, Mask mask) {
  Mask &d = *w.reg<Mask>(in.op[0]);
  const T *a = w.in<T>(in.op[1]);
  eachLane(mask, [&](int i) {
    int kind = std::fpclassify(a[i]);
    bool is = in.variant == Finite       ? std::isfinite(a[i])
              : in.variant == Infinite   ? kind == FP_INFINITE
              : in.variant == Number     ? kind != FP_NAN
              : in.variant == NotANumber ? kind == FP_NAN
              : in.variant == Normal     ? kind == FP_NORMAL
                                         : kind == FP_SUBNORMAL;
    d = (d & ~(1u << i)) | Mask(is) << i;
  });
}

void decodeTest(Decoder &d) {
  constexpr const char *names[] = {"finite",     "infinite", "number",
                                   "notanumber", "normal",   "subnormal"};
  Type type = d.type();
  if (type != Type::F32 && type != Type::F64)
    d.unknown();
  Instruction &in = d.add(type == Type::F32 ? test<float> : test<double>,
                          {d.destination(0, 0), d.source(1, type)});
  for (int i = 0; i < 6; ++i)
    if (d.has(names[i])) {
      in.variant = i;
      return;
    }
  d.unknown();
}

} // namespace

void addFloat(Table &table) {
  table["add"] = decodeArithmetic<[](auto a, auto b) { return a + b; }, 2>;
  table["sub"] = decodeArithmetic<[](auto a, auto b) { return a - b; }, 2>;
  table["mul"] = decodeArithmetic<[](auto a, auto b) { return a * b; }, 2>;
  table["div"] = decodeArithmetic<[](auto a, auto b) { return a / b; }, 2>;
  table["fma"] = decodeArithmetic<[](auto a, auto b, auto c) { return std::fma(a, b, c); }, 3>;
  table["mad"] = decodeArithmetic<[](auto a, auto b, auto c) { return std::fma(a, b, c); }, 3>;
  table["min"] = decodeExtremum<false>;
  table["max"] = decodeExtremum<true>;
  table["neg"] = decodeArithmetic<[](auto a) { return -a; }, 1>;
  table["abs"] = decodeArithmetic<[](auto a) { return std::fabs(a); }, 1>;
  table["copysign"] = decodeArithmetic<[](auto a, auto b) { return std::copysign(b, a); }, 2>;
  table["sqrt"] = decodeFunction<[](auto a) { return std::sqrt(a); }>;
  table["rcp"] = decodeFunction<[](auto a) { return 1 / a; }>;
  table["rsqrt"] = decodeFunction<[](auto a) { return 1 / std::sqrt(double(a)); }>;
  table["ex2"] = decodeFunction<[](auto a) { return std::exp2(double(a)); }>;
  table["lg2"] = decodeFunction<[](auto a) { return std::log2(double(a)); }>;
  table["sin"] = decodeFunction<[](auto a) { return std::sin(double(a)); }>;
  table["cos"] = decodeFunction<[](auto a) { return std::cos(double(a)); }>;
  table["tanh"] = decodeFunction<[](auto a) { return std::tanh(double(a)); }>;
  table["testp"] = decodeTest;
}

} // namespace emulator
