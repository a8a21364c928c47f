//===- Move.cpp - mov, and addresses from one space to another ------------===//
#include "test/emulator/decode/Lanes.h"
#include "test/emulator/execute/Cluster.h"

#include <chrono>

namespace emulator {
namespace {

template <typename T> constexpr Handler copy = unary<T, T, [](T a) { return a; }>;

Handler copying(Decoder &d, int bytes) {
  switch (bytes) {
  case 2:
    return copy<uint16_t>;
  case 4:
    return copy<uint32_t>;
  case 8:
    return copy<uint64_t>;
  case 16:
    return copy<unsigned __int128>;
  default:
    d.unknown();
  }
}

void copyPredicate(Warp &w, const Instruction &in, Mask mask) {
  Mask &d = *w.reg<Mask>(in.op[0]);
  d = (d & ~mask) | (w.bits(in.op[1]) & mask);
}

// Of `count` elements of variant bytes, in memory's order, one, or the other way round.
void pack(Warp &w, const Instruction &in, Mask mask) {
  int bytes = in.variant, all = bytes * in.count;
  const Place *parts = &w.block->launch->kernel->places[in.list];
  eachLane(mask, [&](int i) {
    std::byte result[16];
    for (int k = 0; k < in.count; ++k)
      std::memcpy(result + k * bytes, w.in<std::byte>(parts[k]) + i * bytes, bytes);
    std::memcpy(w.reg<std::byte>(in.op[0]) + i * all, result, all);
  });
}

void unpack(Warp &w, const Instruction &in, Mask mask) {
  int bytes = in.variant, all = bytes * in.count;
  const Place *parts = &w.block->launch->kernel->places[in.list];
  eachLane(mask, [&](int i) {
    std::byte source[16];
    std::memcpy(source, w.in<std::byte>(in.op[0]) + i * all, all);
    for (int k = 0; k < in.count; ++k)
      std::memcpy(w.reg<std::byte>(parts[k]) + i * bytes, source + k * bytes, bytes);
  });
}

void decodePacking(Decoder &d, int all) {
  bool packs = d.operand(1).kind == ptx::Operand::Vector;
  const auto &elements = d.operand(packs ? 1 : 0).elements;
  int bytes = elements.empty() ? 0 : all / int(elements.size());
  if (bytes < 1 || bytes * int(elements.size()) != all)
    d.unknown();
  std::vector<Place> places;
  for (const ptx::Operand &element : elements)
    places.push_back(packs ? d.source(element, bytes) : d.destination(element, bytes));
  Instruction &in =
      packs ? d.add(pack, {d.destination(0, all)}) : d.add(unpack, {d.source(1, all)});
  in.variant = bytes;
  d.list(in, places);
}

// What changes while a kernel runs.
void readClock(Warp &w, const Instruction &in, Mask mask) {
  uint64_t value =
      in.variant2 ? std::chrono::steady_clock::now().time_since_epoch().count() : w.instructions;
  eachLane(mask, [&](int i) {
    if (in.variant == 4)
      w.reg<uint32_t>(in.op[0])[i] = value;
    else
      w.reg<uint64_t>(in.op[0])[i] = value;
  });
}

void decodeMove(Decoder &d) {
  Type type = d.type();
  if (type == Type::Pred) {
    d.add(copyPredicate, {d.destination(0, 0), d.source(1, 0)});
    return;
  }
  int bytes = ptx::bytesOf(type);
  const ptx::Operand &from = d.operand(1);
  if (from.kind == ptx::Operand::Vector || d.operand(0).kind == ptx::Operand::Vector)
    return decodePacking(d, bytes);
  if (from.kind == ptx::Operand::Special &&
      (from.name.rfind("%clock", 0) == 0 || from.name == "%globaltimer")) {
    Instruction &in = d.add(readClock, {d.destination(0, bytes)});
    in.variant = bytes;
    in.variant2 = from.name[1] == 'g';
    return;
  }
  d.add(copying(d, bytes), {d.destination(0, bytes), d.source(1, bytes)});
}

uint64_t windowOfSpace(Decoder &d, Space space) {
  switch (space) {
  case Space::Shared:
    return windowOf(Window::Shared);
  case Space::Local:
    return windowOf(Window::Local);
  case Space::Parameter:
    return windowOf(Window::Parameter);
  case Space::Generic:
    d.unknown();
  default:
    return 0; // global and constant addresses are generic ones
  }
}

// To generic addresses, or from them: the window is put on or taken off.
void addWindow(Warp &w, const Instruction &in, Mask mask) {
  uint64_t *d = w.reg<uint64_t>(in.op[0]);
  const uint64_t *a = w.in<uint64_t>(in.op[1]);
  uint64_t window = in.immediate;
  forLanes(mask, [=](int i) { d[i] = a[i] | window; });
}
void takeWindow(Warp &w, const Instruction &in, Mask mask) {
  uint64_t *d = w.reg<uint64_t>(in.op[0]);
  const uint64_t *a = w.in<uint64_t>(in.op[1]);
  uint64_t window = in.immediate;
  eachLane(mask, [&](int i) {
    if (window && a[i] >> windowShift != window >> windowShift)
      throw Fault{Result::IllegalAddress,
                  text("0x%llx is no address of that space", (unsigned long long)a[i]), i};
    d[i] = a[i] & ~window;
  });
}

void decodeCvta(Decoder &d) {
  uint64_t window = windowOfSpace(d, d.space());
  Handler handler = !window ? copy<uint64_t> : d.has("to") ? takeWindow : addWindow;
  d.add(handler, {d.destination(0, 8), d.source(1, 8)}).immediate = window;
}

// mapa: the same place in another block of the cluster.
template <typename T> void mapToRank(Warp &w, const Instruction &in, Mask mask) {
  T *d = w.reg<T>(in.op[0]);
  const T *a = w.in<T>(in.op[1]);
  const uint32_t *rank = w.in<uint32_t>(in.op[2]);
  eachLane(mask, [&](int i) {
    if (rank[i] >= w.block->cluster->size())
      throw Fault{Result::LaunchFailed,
                  text("block %u of a cluster of %u", rank[i], w.block->cluster->size()), i};
    d[i] = addressOfRank(a[i], rank[i]) | (a[i] & T(windowOf(Window::Shared)));
  });
}

void decodeMapa(Decoder &d) {
  int bytes = ptx::bytesOf(d.type());
  d.add(bytes == 4 ? mapToRank<uint32_t> : mapToRank<uint64_t>,
        {d.destination(0, bytes), d.source(1, bytes), d.source(2, 4)});
}

void decodeIsspacep(Decoder &d) {
  uint64_t window = windowOfSpace(d, d.space());
  if (!window)
    window = windowOf(Window::Global);
  d.add(
       [](Warp &w, const Instruction &in, Mask mask) {
         Mask &p = *w.reg<Mask>(in.op[0]);
         eachLane(mask, [&](int i) {
           bool is =
               w.in<uint64_t>(in.op[1])[i] >> windowShift == uint64_t(in.immediate) >> windowShift;
           p = (p & ~(1u << i)) | Mask(is) << i;
         });
       },
       {d.destination(0, 0), d.source(1, 8)})
      .immediate = window;
}

} // namespace

void addMove(Table &table) {
  table["mov"] = decodeMove;
  table["cvta"] = decodeCvta;
  table["mapa"] = decodeMapa;
  table["isspacep"] = decodeIsspacep;
}

} // namespace emulator
