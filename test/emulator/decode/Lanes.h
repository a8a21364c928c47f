//===- Lanes.h - handlers of one function for each lane ---------*- C++ -*-===//
//
// unary<T, F>: d[lane] = F(a[lane]), and so on. F is a lambda without captures.
//
//===----------------------------------------------------------------------===//
#ifndef EMULATOR_DECODE_LANES_H
#define EMULATOR_DECODE_LANES_H

#include "test/emulator/decode/Decoder.h"

namespace emulator {

template <typename D, typename A, auto F> void unary(Warp &w, const Instruction &in, Mask mask) {
  D *d = w.reg<D>(in.op[0]);
  const A *a = w.in<A>(in.op[1]);
  forLanes(mask, [=](int i) { d[i] = static_cast<D>(F(a[i])); });
}

template <typename D, typename A, typename B, auto F>
void binary(Warp &w, const Instruction &in, Mask mask) {
  D *d = w.reg<D>(in.op[0]);
  const A *a = w.in<A>(in.op[1]);
  const B *b = w.in<B>(in.op[2]);
  forLanes(mask, [=](int i) { d[i] = static_cast<D>(F(a[i], b[i])); });
}

template <typename D, typename A, typename C, auto F>
void ternary(Warp &w, const Instruction &in, Mask mask) {
  D *d = w.reg<D>(in.op[0]);
  const A *a = w.in<A>(in.op[1]);
  const A *b = w.in<A>(in.op[2]);
  const C *c = w.in<C>(in.op[3]);
  forLanes(mask, [=](int i) { d[i] = static_cast<D>(F(a[i], b[i], c[i])); });
}

/// With the handler's variant as the last argument.
template <typename D, typename A, auto F>
void ternaryBy(Warp &w, const Instruction &in, Mask mask) {
  D *d = w.reg<D>(in.op[0]);
  const A *a = w.in<A>(in.op[1]);
  const A *b = w.in<A>(in.op[2]);
  const A *c = w.in<A>(in.op[3]);
  int variant = in.variant;
  forLanes(mask, [=](int i) { d[i] = static_cast<D>(F(a[i], b[i], c[i], variant)); });
}

/// A handler for the type of an integer; null if it is none. Make: []<typename T>() { return
/// handler; }.
template <typename Make> Handler forInteger(Type type, Make make) {
  switch (type) {
  case Type::U16:
  case Type::B16:
    return make.template operator()<uint16_t>();
  case Type::U32:
  case Type::B32:
    return make.template operator()<uint32_t>();
  case Type::U64:
  case Type::B64:
    return make.template operator()<uint64_t>();
  case Type::S16:
    return make.template operator()<int16_t>();
  case Type::S32:
    return make.template operator()<int32_t>();
  case Type::S64:
    return make.template operator()<int64_t>();
  default:
    return nullptr;
  }
}

/// d, a, b, ... of the same type.
inline void addSame(Decoder &d, Handler handler, Type type, int sources) {
  if (!handler)
    d.unknown();
  int bytes = ptx::bytesOf(type);
  Instruction &in = d.add(handler, {d.destination(0, bytes)});
  for (int i = 1; i <= sources; ++i)
    in.op[i] = d.source(i, bytes);
}

} // namespace emulator

#endif // EMULATOR_DECODE_LANES_H
