//===- WarpOps.cpp - what the lanes of a warp do together -----------------===//
#include "test/emulator/decode/Lanes.h"

#include <algorithm>

namespace emulator {
namespace {

enum Mode { Up, Down, Bfly, Idx };

// shfl.sync d|p, a, b, c, members: from where, by the formulas of the PTX manual.
void shuffle(Warp &w, const Instruction &in, Mask mask) {
  const Place *places = &w.block->launch->kernel->places[in.list];
  int first = std::countr_zero(mask);
  if (!w.converged(in, mask, w.in<Mask>(in.op[4])[first]))
    return;
  const uint32_t *a = w.in<uint32_t>(in.op[1]), *b = w.in<uint32_t>(in.op[2]),
                 *c = w.in<uint32_t>(in.op[3]);
  uint32_t results[lanes];
  Mask inRange = 0;
  eachLane(mask, [&](int i) {
    int by = b[i] & 31, segment = c[i] >> 8 & 31, clamp = c[i] & 31;
    int last = (i & segment) | (clamp & ~segment), begin = i & segment;
    int from = in.variant == Up     ? i - by
               : in.variant == Down ? i + by
               : in.variant == Bfly ? i ^ by
                                    : begin | (by & ~segment);
    bool is = in.variant == Up ? from >= last : from <= last;
    if (!is)
      from = i;
    if (!(mask >> from & 1))
      throw Fault{Result::LaunchFailed, text("reads lane %d, which does not take part", from), i};
    inRange |= Mask(is) << i;
    results[i] = a[from];
  });
  eachLane(mask, [&](int i) { w.reg<uint32_t>(in.op[0])[i] = results[i]; });
  if (in.count) {
    Mask &p = *w.reg<Mask>(places[0]);
    p = (p & ~mask) | inRange;
  }
}

void decodeShuffle(Decoder &d) {
  constexpr const char *modes[] = {"up", "down", "bfly", "idx"};
  const ptx::Operand &first = d.operand(0);
  bool two = first.kind == ptx::Operand::Vector;
  if (!d.has("sync") || d.numOperands() != 5)
    d.unknown();
  Instruction &in =
      d.add(shuffle, {d.destination(two ? first.elements.at(0) : first, 4), d.source(1, 4),
                      d.source(2, 4), d.source(3, 4), d.source(4, 4)});
  d.list(in, {});
  if (two)
    d.list(in, {d.destination(first.elements.at(1), 0)});
  for (int i = 0; i < 4; ++i)
    if (d.has(modes[i])) {
      in.variant = i;
      return;
    }
  d.unknown();
}

enum Vote { All, Any, Uni, Ballot };

void vote(Warp &w, const Instruction &in, Mask mask) {
  Mask members = w.in<Mask>(in.op[2])[std::countr_zero(mask)];
  if (!w.converged(in, mask, members))
    return;
  Mask yes = (w.bits(in.op[1]) ^ (in.variant2 ? allLanes : 0)) & mask;
  if (in.variant == Ballot)
    return eachLane(mask, [&](int i) { w.reg<Mask>(in.op[0])[i] = yes; });
  bool is = in.variant == All ? yes == mask : in.variant == Any ? yes != 0 : yes == mask || !yes;
  Mask &p = *w.reg<Mask>(in.op[0]);
  p = is ? p | mask : p & ~mask;
}

void decodeVote(Decoder &d) {
  int which = d.has("all") ? All : d.has("any") ? Any : d.has("uni") ? Uni : Ballot;
  if (!d.has("sync"))
    d.unknown();
  Instruction &in =
      d.add(vote, {d.destination(0, which == Ballot ? 4 : 0), d.source(1, 0), d.source(2, 4)});
  in.variant = which;
  in.variant2 = d.operand(1).negated;
}

// match.any: lanes with the same value; match.all: those, if all have it.
template <typename T> void match(Warp &w, const Instruction &in, Mask mask) {
  if (!w.converged(in, mask, w.in<Mask>(in.op[2])[std::countr_zero(mask)]))
    return;
  const T *a = w.in<T>(in.op[1]);
  Mask results[lanes];
  Mask everybody = 0;
  eachLane(mask, [&](int i) {
    results[i] = 0;
    eachLane(mask, [&](int k) { results[i] |= Mask(a[k] == a[i]) << k; });
    everybody |= Mask(results[i] == mask) << i;
  });
  eachLane(mask, [&](int i) {
    w.reg<Mask>(in.op[0])[i] = in.variant && results[i] != mask ? 0 : results[i];
  });
  if (in.op[3] != nowhere) {
    Mask &p = *w.reg<Mask>(in.op[3]);
    p = (p & ~mask) | everybody;
  }
}

void decodeMatch(Decoder &d) {
  const ptx::Operand &first = d.operand(0);
  bool two = first.kind == ptx::Operand::Vector;
  int bytes = ptx::bytesOf(d.has("b64") ? Type::B64 : Type::B32);
  Instruction &in = d.add(
      bytes == 8 ? match<uint64_t> : match<uint32_t>,
      {d.destination(two ? first.elements.at(0) : first, 4), d.source(1, bytes), d.source(2, 4)});
  if (two)
    in.op[3] = d.destination(first.elements.at(1), 0);
  in.variant = d.has("all");
}

template <typename T, auto F> void reduce(Warp &w, const Instruction &in, Mask mask) {
  if (!w.converged(in, mask, w.in<Mask>(in.op[2])[std::countr_zero(mask)]))
    return;
  const T *a = w.in<T>(in.op[1]);
  int first = std::countr_zero(mask);
  T result = a[first];
  eachLane(mask & (mask - 1), [&](int i) { result = F(result, a[i]); });
  eachLane(mask, [&](int i) { w.reg<T>(in.op[0])[i] = result; });
}

void decodeReduce(Decoder &d) {
  bool isSigned = d.type() == Type::S32;
  constexpr auto least = [](auto a, auto b) { return std::min(a, b); };
  constexpr auto most = [](auto a, auto b) { return std::max(a, b); };
  Handler handler = d.has("add")   ? reduce<uint32_t, [](uint32_t a, uint32_t b) { return a + b; }>
                    : d.has("and") ? reduce<uint32_t, [](uint32_t a, uint32_t b) { return a & b; }>
                    : d.has("or")  ? reduce<uint32_t, [](uint32_t a, uint32_t b) { return a | b; }>
                    : d.has("xor") ? reduce<uint32_t, [](uint32_t a, uint32_t b) { return a ^ b; }>
                    : d.has("min") ? (isSigned ? reduce<int32_t, least> : reduce<uint32_t, least>)
                    : d.has("max") ? (isSigned ? reduce<int32_t, most> : reduce<uint32_t, most>)
                                   : nullptr;
  if (!handler || ptx::bytesOf(d.type()) != 4)
    d.unknown();
  d.add(handler, {d.destination(0, 4), d.source(1, 4), d.source(2, 4)});
}

void active(Warp &w, const Instruction &in, Mask mask) {
  eachLane(mask, [&](int i) { w.reg<Mask>(in.op[0])[i] = mask; });
}

// elect.sync d|p, members: the lowest lane.
void elect(Warp &w, const Instruction &in, Mask mask) {
  if (!w.converged(in, mask, w.in<Mask>(in.op[2])[std::countr_zero(mask)]))
    return;
  int leader = std::countr_zero(mask);
  eachLane(mask, [&](int i) { w.reg<uint32_t>(in.op[0])[i] = leader; });
  Mask &p = *w.reg<Mask>(in.op[1]);
  p = (p & ~mask) | Mask{1} << leader;
}

} // namespace

void addWarpOps(Table &table) {
  table["shfl"] = decodeShuffle;
  table["vote"] = decodeVote;
  table["match"] = decodeMatch;
  table["redux"] = decodeReduce;
  table["activemask"] = [](Decoder &d) { d.add(active, {d.destination(0, 4)}); };
  table["elect"] = [](Decoder &d) {
    const auto &both = d.operand(0).elements;
    if (both.size() != 2)
      d.unknown();
    d.add(elect, {d.destination(both[0], 4), d.destination(both[1], 0), d.source(1, 4)});
  };
}

} // namespace emulator
