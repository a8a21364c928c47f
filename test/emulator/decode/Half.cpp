//===- Half.cpp - arithmetic on f16 and bf16, one or two in a register ----===//
//
// Each result is that of exact arithmetic, rounded once.
//
//===----------------------------------------------------------------------===//
#include "test/emulator/decode/Lanes.h"
#include "test/emulator/decode/Narrow.h"

#include <algorithm>
#include <map>

namespace emulator {
namespace {

enum Operation { Add, Sub, Mul, Fma, Min, Max, Neg, Abs, Ex2, Tanh };
enum Flag { Relu = 1, Sat = 2, NaN = 4 };

struct Half {
  static double read(uint16_t bits) { return halfToFloat(bits); }
  static uint16_t write(double value) { return floatToHalf(value); }
};
struct Bfloat {
  static double read(uint16_t bits) { return bfloatToFloat(bits); }
  static uint16_t write(double value) { return floatToBfloat(value); }
};

// fmin and fmax are PTX's but for zeros' signs and .NaN.
double extremum(double a, double b, bool max, int flags) {
  if ((flags & NaN) && (std::isnan(a) || std::isnan(b)))
    return std::numeric_limits<double>::quiet_NaN();
  if (a == b)
    return std::signbit(a) == max ? b : a;
  return max ? std::fmax(a, b) : std::fmin(a, b);
}

double compute(int operation, int flags, double a, double b, double c) {
  double result = 0;
  switch (operation) {
  case Add:
    result = exactEnough(a, 1, b);
    break;
  case Sub:
    result = exactEnough(a, 1, -b);
    break;
  case Mul:
    result = a * b;
    break;
  case Fma:
    result = exactEnough(a, b, c);
    break;
  case Min:
  case Max:
    result = extremum(a, b, operation == Max, flags);
    break;
  case Neg:
    result = -a;
    break;
  case Abs:
    result = std::fabs(a);
    break;
  case Ex2:
    result = std::exp2(a);
    break;
  case Tanh:
    result = std::tanh(a);
    break;
  }
  if (flags & Sat)
    return result > 0 ? std::min(result, 1.0) : 0;
  return (flags & Relu) && !(result > 0) && !std::isnan(result) ? 0 : result;
}

template <typename Format, int perRegister> void apply(Warp &w, const Instruction &in, Mask mask) {
  auto *d = w.reg<uint16_t>(in.op[0]);
  const uint16_t *sources[3];
  for (int k = 0; k < 3; ++k)
    sources[k] = w.in<uint16_t>(in.op[k < in.count ? k + 1 : 1]);
  eachLane(mask, [&](int lane) {
    for (int i = lane * perRegister; i < (lane + 1) * perRegister; ++i)
      d[i] = Format::write(compute(in.variant, in.variant2, Format::read(sources[0][i]),
                                   Format::read(sources[1][i]), Format::read(sources[2][i])));
  });
}

} // namespace

// Of the words that Float.cpp knows.
bool decodeHalf(Decoder &d) {
  static const std::map<std::string, std::pair<Operation, int>> operations = {
      {"add", {Add, 2}}, {"sub", {Sub, 2}},  {"mul", {Mul, 2}}, {"fma", {Fma, 3}},
      {"min", {Min, 2}}, {"max", {Max, 2}},  {"neg", {Neg, 1}}, {"abs", {Abs, 1}},
      {"ex2", {Ex2, 1}}, {"tanh", {Tanh, 1}}};
  Type type = d.type();
  Handler handler = type == Type::F16      ? apply<Half, 1>
                    : type == Type::F16x2  ? apply<Half, 2>
                    : type == Type::BF16   ? apply<Bfloat, 1>
                    : type == Type::BF16x2 ? apply<Bfloat, 2>
                                           : nullptr;
  auto found = operations.find(d.statement().parts[0]);
  if (!handler || found == operations.end())
    return false;
  auto [operation, sources] = found->second;
  addSame(d, handler, type, sources);
  Instruction &in = d.kernel.code.back();
  in.count = sources;
  in.variant = operation;
  in.variant2 = (d.has("relu") ? Relu : 0) | (d.has("sat") ? Sat : 0) | (d.has("NaN") ? NaN : 0);
  return true;
}

void addHalf(Table &) {}

} // namespace emulator
