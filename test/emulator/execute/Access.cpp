//===- Access.cpp - a thread's checked access to memory -------------------===//
#include "test/emulator/execute/Access.h"

#include "test/emulator/execute/Cluster.h"

namespace emulator {
namespace {

using ull = unsigned long long;

std::string nameOf(const Warp &warp, uint32_t tag) {
  return warp.block->cluster->place(tag >> 5 & 31, tag & 31);
}

} // namespace

void faultOutside(const Warp &warp, int lane, uint64_t address, uint32_t bytes, Space space) {
  if (space == Space::Shared)
    throw Fault{Result::IllegalAddress,
                text("%u bytes at shared address 0x%llx: the block has %u bytes from 0x%x on",
                     bytes, (ull)address, warp.block->shared.size, sharedBase),
                lane};
  if (space == Space::Local || space == Space::Parameter)
    throw Fault{Result::IllegalAddress,
                text("%u bytes at 0x%llx of a thread's local memory or of the parameters", bytes,
                     (ull)address),
                lane};
  throw Fault{Result::IllegalAddress, memory().describe(address, bytes), lane};
}

void faultMisaligned(int lane, uint64_t address, uint32_t bytes) {
  throw Fault{Result::MisalignedAddress,
              text("%u bytes at 0x%llx: not aligned to their size", bytes, (ull)address), lane};
}

void faultTooEarly(int lane, uint64_t address, uint32_t bytes) {
  throw Fault{
      Result::IllegalAddress,
      text("%u bytes at 0x%llx in front of griddepcontrol.wait: kernels before this one may "
           "still run",
           bytes, (ull)address),
      lane};
}

void faultUnwritten(int lane, uint64_t address, uint32_t bytes, const char *what) {
  throw Fault{
      Result::IllegalAddress,
      text("read of %u bytes of %s at 0x%llx that were never written", bytes, what, (ull)address),
      lane};
}

void faultGlobalRace(const Warp &warp, int lane, uint64_t address, uint32_t bytes, uint64_t tag,
                     const char *what) {
  const Block &block = *warp.block;
  uint64_t thread = tag >> 4 & 0xffffffffff;
  throw Fault{
      Result::IllegalAddress,
      text("%s of %u bytes at 0x%llx that thread %llu of block %llu writes in the same launch",
           what, bytes, (ull)address, (ull)(thread % block.threads), (ull)(thread / block.threads)),
      lane};
}

void faultShared(const Warp &warp, int lane, uint32_t address, uint32_t bytes,
                 Shared::Conflict conflict, bool write, const Shared &shared) {
  const char *what = write ? "write" : "read";
  if (conflict == Shared::Conflict::Unwritten)
    faultUnwritten(lane, address, bytes, "shared memory");
  if (conflict == Shared::Conflict::Pending)
    throw Fault{
        Result::IllegalAddress,
        text("%s of %u bytes of shared memory at 0x%x that an asynchronous copy is to write: it "
             "was not waited for",
             what, bytes, address),
        lane};
  throw Fault{
      Result::IllegalAddress,
      text("race: %s of %u bytes of shared memory at 0x%x that %s touched, with no barrier between",
           what, bytes, address, nameOf(warp, shared.other).c_str()),
      lane};
}

std::byte *otherSpace(Warp &warp, int lane, uint64_t address, uint32_t bytes, Space space,
                      bool write) {
  const Kernel &kernel = *warp.block->launch->kernel;
  if (space == Space::Generic) {
    uint64_t offset = address & ~(uint64_t{0xf} << windowShift);
    if (isIn(Window::Shared, address))
      return write ? writeShared(warp, lane, offset, bytes)
                   : const_cast<std::byte *>(readShared(warp, lane, offset, bytes));
    if (isIn(Window::Local, address))
      return otherSpace(warp, lane, offset, bytes, Space::Local, write);
    if (isIn(Window::Parameter, address) && !write)
      return otherSpace(warp, lane, offset, bytes, Space::Parameter, write);
    faultOutside(warp, lane, address, bytes, space);
  }
  if (address & (bytes - 1))
    faultMisaligned(lane, address, bytes);
  if (space == Space::Parameter) {
    if (address + bytes > kernel.parameterBytes)
      faultOutside(warp, lane, address, bytes, space);
    return const_cast<std::byte *>(warp.block->launch->parameters.data() + address);
  }
  if (space != Space::Local || address > kernel.localBytes || bytes > kernel.localBytes - address)
    faultOutside(warp, lane, address, bytes, space);
  uint64_t at = uint64_t(lane) * kernel.localBytes + address;
  for (uint32_t i = 0; i < bytes; ++i)
    if (write)
      warp.localWritten[at + i] = 1;
    else if (options().uninitialized && !warp.localWritten[at + i])
      faultUnwritten(lane, address, bytes, "local memory");
  return warp.local + at;
}

} // namespace emulator
