//===- Access.h - a thread's checked access to memory -----------*- C++ -*-===//
//
// Each function throws a Fault, or returns where the bytes lie on the host.
//
//===----------------------------------------------------------------------===//
#ifndef EMULATOR_EXECUTE_ACCESS_H
#define EMULATOR_EXECUTE_ACCESS_H

#include "test/emulator/execute/Block.h"

namespace emulator {

enum class Space : uint8_t { Generic, Global, Shared, Local, Constant, Parameter };

[[noreturn]] void faultOutside(const Warp &warp, int lane, uint64_t address, uint32_t bytes,
                               Space space);
[[noreturn]] void faultMisaligned(int lane, uint64_t address, uint32_t bytes);
[[noreturn]] void faultUnwritten(int lane, uint64_t address, uint32_t bytes, const char *what);
[[noreturn]] void faultGlobalRace(const Warp &warp, int lane, uint64_t address, uint32_t bytes,
                                  uint64_t tag, const char *what);
[[noreturn]] void faultShared(const Warp &warp, int lane, uint32_t address, uint32_t bytes,
                              Shared::Conflict conflict, bool write, const Shared &shared);
/// Those without a fast way.
std::byte *otherSpace(Warp &warp, int lane, uint64_t address, uint32_t bytes, Space space,
                      bool write);

[[noreturn]] void faultTooEarly(int lane, uint64_t address, uint32_t bytes);

inline Allocation *allocationOf(Warp &warp, int lane, uint64_t address, uint32_t bytes,
                                Space space) {
  const Allocation *found = warp.lastFound;
  if (!found || (address ^ found->address) >> Allocation::shift)
    found = memory().find(address);
  uint64_t offset = address & ((uint64_t{1} << Allocation::shift) - 1);
  if (!found || offset > found->size || bytes > found->size - offset)
    faultOutside(warp, lane, address, bytes, space);
  if (warp.waited != allLanes && !(warp.waited >> lane & 1) && !found->readOnly)
    faultTooEarly(lane, address, bytes);
  warp.lastFound = found;
  return const_cast<Allocation *>(found);
}

inline bool areWritten(const Allocation &allocation, uint64_t offset, uint32_t bytes) {
  const uint8_t *written = allocation.written + offset / 4;
  uint64_t four;
  switch (bytes) {
  case 4:
    return *written == 0xf;
  case 8:
    return written[0] == 0xf && written[1] == 0xf;
  case 16:
    four = 0;
    std::memcpy(&four, written, 4);
    return four == 0x0f0f0f0f;
  default:
    return allocation.isWritten(offset, bytes);
  }
}

inline const std::byte *readGlobal(Warp &warp, int lane, uint64_t address, uint32_t bytes,
                                   Space space) {
  if (address & (bytes - 1))
    faultMisaligned(lane, address, bytes);
  const Allocation &found = *allocationOf(warp, lane, address, bytes, space);
  uint64_t offset = address - found.address;
  if (options().uninitialized && !areWritten(found, offset, bytes))
    faultUnwritten(lane, address, bytes, "global memory");
  if (options().globalRaces) {
    uint64_t tag = found.writers[offset / 4], launch = warp.block->launchId;
    if (tag >> 44 == launch &&
        (tag >> 4 & 0xffffffffff) / warp.block->threads != warp.block->linear)
      faultGlobalRace(warp, lane, address, bytes, tag, "read");
  }
  return found.data + offset;
}

inline std::byte *writeGlobal(Warp &warp, int lane, uint64_t address, uint32_t bytes, Space space) {
  if (address & (bytes - 1))
    faultMisaligned(lane, address, bytes);
  Allocation &found = *allocationOf(warp, lane, address, bytes, space);
  uint64_t offset = address - found.address;
  if (found.readOnly)
    throw Fault{Result::IllegalAddress, "write to .const " + found.name, lane};
  if (options().globalRaces) {
    uint64_t launch = warp.block->launchId, thread = warp.block->thread(warp, lane);
    uint64_t which = bytes >= 4 ? 0xf : ((1 << bytes) - 1) << offset % 4;
    for (uint64_t i = offset / 4; i * 4 < offset + bytes; ++i) {
      uint64_t tag = found.writers[i];
      if (tag >> 44 == launch && (tag & which)) {
        if ((tag >> 4 & 0xffffffffff) != thread)
          faultGlobalRace(warp, lane, address, bytes, tag, "write");
      }
      found.writers[i] =
          writerTag(launch, thread, which | (tag >> 4 == (launch << 40 | thread) ? tag & 0xf : 0));
    }
  }
  if (bytes == 4)
    found.written[offset / 4] = 0xf;
  else
    found.setWritten(offset, bytes);
  return found.data + offset;
}

/// Of an instruction on shared memory, whose base may be generic, or lie outside of the memory with
/// an offset that leads there.
inline uint64_t sharedAddress(uint64_t base, int64_t offset) {
  return (base + offset) & ~windowOf(Window::Shared);
}

/// A place in the block's own shared memory. In a cluster its addresses have the block's tag, as a
/// GPU's have its rank: who makes a number of one has to drop that.
inline uint64_t ofBlock(const Warp &warp, uint64_t address) {
  uint32_t tag = warp.block->tag;
  return tag && address >> rankShift == tag ? address & ((1u << rankShift) - 1) : address;
}

inline std::byte *sharedAt(Warp &warp, int lane, uint64_t address, uint32_t bytes) {
  if (address & (bytes - 1))
    faultMisaligned(lane, address, bytes);
  const Shared &shared = warp.block->shared;
  uint64_t offset = address - sharedBase;
  if (offset > shared.size || bytes > shared.size - offset)
    faultOutside(warp, lane, address, bytes, Space::Shared);
  return warp.block->shared.data.data() + offset;
}

inline const std::byte *readShared(Warp &warp, int lane, uint64_t address, uint32_t bytes) {
  address = ofBlock(warp, address);
  const std::byte *at = sharedAt(warp, lane, address, bytes);
  auto conflict = warp.block->shared.read(address - sharedBase, bytes, warp.clocks, warp.number,
                                          lane, options().uninitialized, options().sharedRaces);
  if (conflict != Shared::Conflict::None)
    faultShared(warp, lane, address, bytes, conflict, false, warp.block->shared);
  return at;
}

inline std::byte *writeShared(Warp &warp, int lane, uint64_t address, uint32_t bytes) {
  address = ofBlock(warp, address);
  std::byte *at = sharedAt(warp, lane, address, bytes);
  auto conflict = warp.block->shared.write(address - sharedBase, bytes, warp.clocks, warp.number,
                                           lane, options().sharedRaces);
  if (conflict != Shared::Conflict::None)
    faultShared(warp, lane, address, bytes, conflict, true, warp.block->shared);
  return at;
}

template <Space space>
const std::byte *readable(Warp &warp, int lane, uint64_t address, uint32_t bytes) {
  if constexpr (space == Space::Global || space == Space::Constant)
    return readGlobal(warp, lane, address, bytes, space);
  if constexpr (space == Space::Shared)
    return readShared(warp, lane, address, bytes);
  if constexpr (space == Space::Generic)
    if (isIn(Window::Global, address))
      return readGlobal(warp, lane, address, bytes, space);
  return otherSpace(warp, lane, address, bytes, space, false);
}

template <Space space> std::byte *writable(Warp &warp, int lane, uint64_t address, uint32_t bytes) {
  if constexpr (space == Space::Global)
    return writeGlobal(warp, lane, address, bytes, space);
  if constexpr (space == Space::Shared)
    return writeShared(warp, lane, address, bytes);
  if constexpr (space == Space::Generic)
    if (isIn(Window::Global, address))
      return writeGlobal(warp, lane, address, bytes, space);
  return otherSpace(warp, lane, address, bytes, space, true);
}

} // namespace emulator

#endif // EMULATOR_EXECUTE_ACCESS_H
