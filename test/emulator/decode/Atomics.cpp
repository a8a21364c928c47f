//===- Atomics.cpp - atom and red -----------------------------------------===//
//
// One at a time, in no order that a program may count on. Sums of floats depend
// on that order: they are counted, and faults if the environment says so.
//
//===----------------------------------------------------------------------===//
#include "test/emulator/decode/Lanes.h"
#include "test/emulator/decode/Narrow.h"

#include <algorithm>
#include <map>
#include <mutex>

namespace emulator {
namespace {

std::mutex oneAtATime;

enum Operation { Exchange, CompareAndSwap, Add, Min, Max, And, Or, Xor, Increment, Decrement };

template <typename T> T updated(int operation, T old, T b, T c) {
  switch (operation) {
  case Exchange:
    return b;
  case CompareAndSwap:
    return old == b ? c : old;
  case Add:
    return old + b;
  case Min:
    return std::min(old, b);
  case Max:
    return std::max(old, b);
  default:
    break;
  }
  if constexpr (std::is_integral_v<T>)
    switch (operation) {
    case And:
      return old & b;
    case Or:
      return old | b;
    case Xor:
      return old ^ b;
    case Increment:
      return old >= b ? 0 : old + 1;
    case Decrement:
      return old == 0 || old > b ? b : old - 1;
    default:
      break;
    }
  return old;
}

// Of atomics among themselves there is no race; with plain accesses there is, in shared memory.
std::byte *target(Warp &w, const Instruction &in, int lane, uint64_t address, uint32_t bytes) {
  if (isIn(Window::Shared, address) || Space(in.immediate & 0xff) == Space::Shared) {
    uint64_t at = ofBlock(w, address & ~windowOf(Window::Shared));
    std::byte *found = sharedAt(w, lane, at, bytes);
    auto conflict = w.block->shared.read(at - sharedBase, bytes, w.clocks, w.number, lane,
                                         options().uninitialized, false);
    if (conflict != Shared::Conflict::None)
      faultShared(w, lane, at, bytes, conflict, false, w.block->shared);
    return found;
  }
  if (address & (bytes - 1))
    faultMisaligned(lane, address, bytes);
  Allocation &found = *allocationOf(w, lane, address, bytes, Space::Global);
  uint64_t offset = address - found.address;
  if (options().uninitialized && !found.isWritten(offset, bytes))
    faultUnwritten(lane, address, bytes, "global memory");
  return found.data + offset;
}

template <typename T> void atomic(Warp &w, const Instruction &in, Mask mask) {
  constexpr bool isFloat = std::is_floating_point_v<T>;
  eachLane(mask, [&](int i) {
    if (isFloat && in.variant == Add && options().floatAtomics)
      throw Fault{Result::LaunchFailed, "an atomic sum of floats: its order is chance", i};
    uint64_t address = in.variant2 == 4 ? w.in<uint32_t>(in.op[4])[i] : w.in<uint64_t>(in.op[4])[i];
    address += in.immediate >> 8;
    std::lock_guard lock(oneAtATime);
    std::byte *at = target(w, in, i, address, sizeof(T));
    w.block->launch->kernel->floatAtomics += isFloat && in.variant == Add;
    T old, b = w.in<T>(in.op[1])[i], c = in.op[2] == nowhere ? T{} : w.in<T>(in.op[2])[i];
    std::memcpy(&old, at, sizeof(T));
    T value = updated(in.variant, old, b, c);
    std::memcpy(at, &value, sizeof(T));
    if (in.op[0] != nowhere)
      w.reg<T>(in.op[0])[i] = old;
  });
}

Handler handlerFor(Type type) {
  if (type == Type::F32)
    return atomic<float>;
  if (type == Type::F64)
    return atomic<double>;
  return ptx::bytesOf(type) < 4
             ? nullptr
             : forInteger(type, []<typename T>() -> Handler { return atomic<T>; });
}

void decode(Decoder &d, bool returns) {
  static const std::map<std::string, int> operations = {{"exch", Exchange}, {"cas", CompareAndSwap},
                                                        {"add", Add},       {"min", Min},
                                                        {"max", Max},       {"and", And},
                                                        {"or", Or},         {"xor", Xor},
                                                        {"inc", Increment}, {"dec", Decrement}};
  Type type = d.type();
  Handler handler = handlerFor(type);
  int operation = -1;
  for (const std::string &part : d.statement().parts)
    if (auto found = operations.find(part); found != operations.end())
      operation = found->second;
  if (!handler || operation < 0)
    d.unknown();
  int bytes = ptx::bytesOf(type);
  size_t at = returns;
  Decoder::Address address = d.address(d.operand(at), d.space());
  Instruction &in =
      d.add(handler, {returns ? d.destination(0, bytes) : nowhere, d.source(at + 1, type)});
  if (operation == CompareAndSwap)
    in.op[2] = d.source(at + 2, type);
  in.op[4] = address.base;
  in.variant = operation;
  in.variant2 = address.baseBytes;
  in.immediate = address.offset << 8 | int64_t(address.space);
}

} // namespace

void addAtomics(Table &table) {
  table["atom"] = [](Decoder &d) { decode(d, true); };
  table["red"] = [](Decoder &d) { decode(d, false); };
}

} // namespace emulator
