//===- Memory.cpp - ld and st ---------------------------------------------===//
//
// Lanes that read or write side by side, as they should, are checked and copied
// at once; all others each on its own.
//
//===----------------------------------------------------------------------===//
#include "test/emulator/decode/Lanes.h"

#include <algorithm>
#include <type_traits>

namespace emulator {
namespace {

template <typename T> uint64_t addressOf(const Warp &w, const Instruction &in, int lane) {
  return w.in<T>(in.op[4])[lane] + in.immediate;
}
uint64_t addressOf(const Warp &w, const Instruction &in, int lane) {
  return in.variant2 == 4 ? uint32_t(addressOf<uint32_t>(w, in, lane))
                          : addressOf<uint64_t>(w, in, lane);
}

// Where all lanes' T lie side by side, all written or to be written, and nobody else wrote there in
// this launch: the first of them. Else null.
template <typename T, bool write> std::byte *sideBySide(Warp &w, const Instruction &in, Mask mask) {
  constexpr uint64_t bytes = sizeof(T) * lanes, granules = bytes / 4;
  if (mask != allLanes || in.variant2 != 8 || w.waited != allLanes)
    return nullptr;
  const uint64_t *addresses = w.in<uint64_t>(in.op[4]);
  uint64_t first = addresses[0], apart = 0;
  for (int i = 0; i < lanes; ++i)
    apart |= addresses[i] - first - i * sizeof(T);
  first += in.immediate;
  if (apart || first % sizeof(T) || !isIn(Window::Global, first))
    return nullptr;
  Allocation *found = memory().find(first, bytes);
  if (!found || (write && found->readOnly))
    return nullptr;
  uint64_t offset = first - found->address, launch = w.block->launchId;
  uint64_t *writers = found->writers + offset / 4;
  if (options().globalRaces) {
    bool touched = false;
    for (uint64_t i = 0; i < granules; ++i)
      touched |= writers[i] >> 44 == launch;
    if (touched)
      return nullptr;
  }
  if constexpr (write) {
    uint64_t thread = w.block->thread(w, 0);
    for (uint64_t i = 0; i < granules; ++i)
      writers[i] = writerTag(launch, thread + i * 4 / sizeof(T), 0xf);
    std::memset(found->written + offset / 4, 0xf, granules);
  } else if (options().uninitialized) {
    uint8_t all = 0xf;
    for (uint64_t i = 0; i < granules; ++i)
      all &= found->written[offset / 4 + i];
    if (all != 0xf)
      return nullptr;
  }
  return found->data + offset;
}

template <Space space, typename T, typename Register>
void load(Warp &w, const Instruction &in, Mask mask) {
  Register *d = w.reg<Register>(in.op[0]);
  if constexpr (space == Space::Global && sizeof(T) == sizeof(Register) && sizeof(T) >= 4)
    if (const std::byte *all = sideBySide<T, false>(w, in, mask)) {
      std::memcpy(d, all, sizeof(T) * lanes);
      return;
    }
  eachLane(mask, [&](int i) {
    T value;
    std::memcpy(&value, readable<space>(w, i, addressOf(w, in, i), sizeof(T)), sizeof(T));
    d[i] = static_cast<Register>(value);
  });
}

template <Space space, typename T, typename Register>
void store(Warp &w, const Instruction &in, Mask mask) {
  const Register *a = w.in<Register>(in.op[0]);
  if constexpr (space == Space::Global && sizeof(T) == sizeof(Register) && sizeof(T) >= 4)
    if (std::byte *all = sideBySide<T, true>(w, in, mask)) {
      std::memcpy(all, a, sizeof(T) * lanes);
      return;
    }
  eachLane(mask, [&](int i) {
    T value = static_cast<T>(a[i]);
    std::memcpy(writable<space>(w, i, addressOf(w, in, i), sizeof(T)), &value, sizeof(T));
  });
}

// Vectors of `count` elements, in registers as wide as they are.
template <Space space, typename T, int count>
void loadVector(Warp &w, const Instruction &in, Mask mask) {
  const Place *places = &w.block->launch->kernel->places[in.list];
  T *d[count];
  for (int k = 0; k < count; ++k)
    d[k] = w.reg<T>(places[k]);
  eachLane(mask, [&](int i) {
    T values[count];
    std::memcpy(values, readable<space>(w, i, addressOf(w, in, i), sizeof values), sizeof values);
    for (int k = 0; k < count; ++k)
      d[k][i] = values[k];
  });
}

template <Space space, typename T, int count>
void storeVector(Warp &w, const Instruction &in, Mask mask) {
  const Place *places = &w.block->launch->kernel->places[in.list];
  const T *a[count];
  for (int k = 0; k < count; ++k)
    a[k] = w.in<T>(places[k]);
  eachLane(mask, [&](int i) {
    T values[count];
    for (int k = 0; k < count; ++k)
      values[k] = a[k][i];
    std::memcpy(writable<space>(w, i, addressOf(w, in, i), sizeof values), values, sizeof values);
  });
}

// Others: elements of variant bytes in registers of op[0] bytes, signed or not by op[1].
template <Space space> void loadWidened(Warp &w, const Instruction &in, Mask mask) {
  uint32_t bytes = in.variant;
  const Place *places = &w.block->launch->kernel->places[in.list];
  eachLane(mask, [&](int i) {
    const std::byte *from = readable<space>(w, i, addressOf(w, in, i), bytes * in.count);
    for (int k = 0; k < in.count; ++k) {
      int64_t value = 0;
      std::memcpy(&value, from + k * bytes, bytes);
      if (in.op[1] == 1)
        value = value << (64 - 8 * bytes) >> (64 - 8 * bytes);
      std::memcpy(w.reg<std::byte>(places[k]) + i * in.op[0], &value, in.op[0]);
    }
  });
}

template <Space space> void storeNarrowed(Warp &w, const Instruction &in, Mask mask) {
  uint32_t bytes = in.variant;
  const Place *places = &w.block->launch->kernel->places[in.list];
  eachLane(mask, [&](int i) {
    std::byte *to = writable<space>(w, i, addressOf(w, in, i), bytes * in.count);
    for (int k = 0; k < in.count; ++k)
      std::memcpy(to + k * bytes, w.in<std::byte>(places[k]) + i * in.op[0], bytes);
  });
}

template <bool write, Space space> Handler forVector(int bytes, int width, size_t count) {
  auto of = [&]<typename T>() -> Handler {
    if (count == 2)
      return write ? storeVector<space, T, 2> : loadVector<space, T, 2>;
    return write ? storeVector<space, T, 4> : loadVector<space, T, 4>;
  };
  if (bytes == width && (count == 2 || count == 4))
    switch (bytes) {
    case 2:
      return of.template operator()<uint16_t>();
    case 4:
      return of.template operator()<uint32_t>();
    case 8:
      return of.template operator()<uint64_t>();
    }
  return write ? storeNarrowed<space> : loadWidened<space>;
}

template <bool write, Space space, typename T> Handler forRegister(int bytes) {
  auto handler = []<typename Register>() -> Handler {
    if constexpr (write)
      return store<space, T, Register>;
    else
      return load<space, T, Register>;
  };
  constexpr bool isSigned = std::is_signed_v<T>;
  switch (bytes) {
  case 2:
    return handler.template operator()<std::conditional_t<isSigned, int16_t, uint16_t>>();
  case 4:
    return handler.template operator()<std::conditional_t<isSigned, int32_t, uint32_t>>();
  case 8:
    return handler.template operator()<std::conditional_t<isSigned, int64_t, uint64_t>>();
  default:
    return nullptr;
  }
}

template <bool write, Space space> Handler forType(Type type, int bytes) {
  switch (type) {
  case Type::S8:
    return forRegister<write, space, int8_t>(bytes);
  case Type::S16:
    return forRegister<write, space, int16_t>(bytes);
  case Type::S32:
    return forRegister<write, space, int32_t>(bytes);
  default:
    switch (ptx::bytesOf(type)) {
    case 1:
      return forRegister<write, space, uint8_t>(bytes);
    case 2:
      return forRegister<write, space, uint16_t>(bytes);
    case 4:
      return forRegister<write, space, uint32_t>(bytes);
    case 8:
      return forRegister<write, space, uint64_t>(bytes);
    case 16:
      return write ? Handler(store<space, unsigned __int128, unsigned __int128>)
                   : Handler(load<space, unsigned __int128, unsigned __int128>);
    default:
      return nullptr;
    }
  }
}

// make.operator()<space>() for the space.
template <typename Make> Handler forSpace(Space space, Make make) {
  switch (space) {
  case Space::Generic:
    return make.template operator()<Space::Generic>();
  case Space::Global:
    return make.template operator()<Space::Global>();
  case Space::Shared:
    return make.template operator()<Space::Shared>();
  case Space::Local:
    return make.template operator()<Space::Local>();
  case Space::Constant:
    return make.template operator()<Space::Constant>();
  case Space::Parameter:
    return make.template operator()<Space::Parameter>();
  }
  return nullptr;
}

template <bool write> void decode(Decoder &d) {
  Type type = d.type();
  size_t atAddress = write ? 0 : 1, atData = write ? 1 : 0;
  Decoder::Address address = d.address(d.operand(atAddress), d.space());
  const ptx::Operand &data = d.operand(atData);
  int bytes = ptx::bytesOf(type);
  bool vector = data.kind == ptx::Operand::Vector;
  int width = bytes;
  for (const ptx::Operand &one : vector ? data.elements : std::vector<ptx::Operand>{data})
    width = std::max({width, d.registerBytes(one), 2});
  auto place = [&](const ptx::Operand &one) {
    return write ? d.source(one, width) : d.destination(one, width);
  };
  std::vector<Place> places;
  for (const ptx::Operand &one : data.elements)
    places.push_back(place(one));
  Handler handler = forSpace(address.space, [&]<Space space>() -> Handler {
    if (vector)
      return forVector<write, space>(bytes, width, data.elements.size());
    return forType<write, space>(type, width);
  });
  if (!handler)
    d.unknown();
  Instruction &in = d.add(handler);
  in.op[0] = vector ? width : place(data);
  in.op[1] = type == Type::S8 || type == Type::S16 || type == Type::S32;
  in.op[4] = address.base;
  in.variant = bytes;
  in.variant2 = address.baseBytes;
  in.immediate = address.offset;
  if (vector)
    d.list(in, places);
}

} // namespace

void addMemory(Table &table) {
  table["ld"] = decode<false>;
  table["ldu"] = decode<false>;
  table["st"] = decode<true>;
  // Hints: nothing happens.
  for (const char *hint : {"prefetch", "prefetchu", "applypriority", "discard"})
    table[hint] = [](Decoder &) {};
}

} // namespace emulator
