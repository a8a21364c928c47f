//===- Transfers.cpp - allocation, copies, fills --------------------------===//
#include "test/emulator/driver/Driver.h"

#include <cstdlib>
#include <cstring>

using namespace emulator;

namespace {

Allocation &at(uint64_t address, size_t bytes) {
  Allocation *found = memory().find(address, bytes);
  require(found, Result::InvalidValue, memory().describe(address, bytes));
  return *found;
}

void checkHost(const void *pointer, size_t bytes) {
  auto address = reinterpret_cast<uint64_t>(pointer);
  require(
      address >> windowShift == 0 && address, Result::InvalidValue,
      text("%d bytes at 0x%llx: no address of the host", (int)bytes, (unsigned long long)address));
}

bool isPinned(const void *pointer, size_t bytes) {
  auto *begin = static_cast<const std::byte *>(pointer);
  auto next = driver().pinned.upper_bound(begin);
  if (next == driver().pinned.begin())
    return false;
  --next;
  return begin + bytes <= next->first + next->second;
}

void toDevice(uint64_t to, const void *from, size_t bytes) {
  Allocation &target = at(to, bytes);
  std::memcpy(target.data + (to - target.address), from, bytes);
  target.setWritten(to - target.address, bytes);
}

void toHost(void *to, uint64_t from, size_t bytes) {
  Allocation &source = at(from, bytes);
  uint64_t offset = from - source.address;
  if (options().uninitialized && !source.isWritten(offset, bytes)) {
    uint64_t first = offset;
    while (source.isWritten(first, 1))
      ++first;
    throw Fault{Result::IllegalAddress,
                text("copy of %llu bytes at 0x%llx to the host: byte %llu was never written",
                     (unsigned long long)bytes, (unsigned long long)from,
                     (unsigned long long)(first - offset))};
  }
  std::memcpy(to, source.data + offset, bytes);
}

// What was never written stays so.
void onDevice(uint64_t to, uint64_t from, size_t bytes) {
  Allocation &source = at(from, bytes), &target = at(to, bytes);
  uint64_t fromOffset = from - source.address, toOffset = to - target.address;
  std::memmove(target.data + toOffset, source.data + fromOffset, bytes);
  if (source.isWritten(fromOffset, bytes))
    return target.setWritten(toOffset, bytes);
  for (size_t i = 0; i < bytes; ++i)
    if (source.isWritten(fromOffset + i, 1))
      target.setWritten(toOffset + i, 1);
}

void fill(uint64_t to, const void *pattern, size_t size, size_t count) {
  Allocation &target = at(to, size * count);
  uint64_t offset = to - target.address;
  require(offset % size == 0, Result::InvalidValue, "a misaligned address");
  if (size == 1)
    std::memset(target.data + offset, *static_cast<const uint8_t *>(pattern), count);
  else
    for (size_t i = 0; i < count; ++i)
      std::memcpy(target.data + offset + i * size, pattern, size);
  target.setWritten(offset, size * count);
}

/// A copy or fill that the host waits for; the null stream's order holds.
template <typename Body> int atOnce(const char *what, Body body) {
  return inContext(what, [&] {
    refuseWhileCapturing();
    flushBlocking();
    body();
  });
}

template <typename T>
int fillAsync(const char *what, uint64_t to, T value, size_t count, void *stream) {
  return inContext(what, [&] {
    at(to, count * sizeof(T));
    enqueue(stream, [=] { fill(to, &value, sizeof(T), count); });
  });
}

} // namespace

EMULATED_CUDA cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  return inContext("cuMemAlloc", [&] {
    require(bytes > 0, Result::InvalidValue, "0 bytes");
    refuseWhileCapturing();
    require(memory().allocated() + bytes <= size_t(options().megabytes) << 20, Result::OutOfMemory,
            text("%llu bytes of %d MiB, %llu in use", (unsigned long long)bytes,
                 options().megabytes, (unsigned long long)memory().allocated()));
    *address = memory().allocate(bytes);
  });
}

EMULATED_CUDA cuMemFree_v2(uint64_t address) {
  return inContext("cuMemFree", [&] {
    refuseWhileCapturing();
    flushAll();
    require(!address || memory().free(address), Result::InvalidValue,
            "not the start of an allocation: " + memory().describe(address, 0));
  });
}

EMULATED_CUDA cuMemAllocHost_v2(void **pointer, size_t bytes) {
  return inContext("cuMemAllocHost", [&] {
    require(bytes > 0, Result::InvalidValue, "0 bytes");
    *pointer = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    require(*pointer, Result::OutOfMemory, "no memory");
    driver().pinned[static_cast<std::byte *>(*pointer)] = bytes;
  });
}

EMULATED_CUDA cuMemHostAlloc(void **pointer, size_t bytes, unsigned) {
  return cuMemAllocHost_v2(pointer, bytes);
}

EMULATED_CUDA cuMemFreeHost(void *pointer) {
  return inContext("cuMemFreeHost", [&] {
    flushAll();
    require(driver().pinned.erase(static_cast<std::byte *>(pointer)), Result::InvalidValue,
            "not from cuMemHostAlloc");
    std::free(pointer);
  });
}

EMULATED_CUDA cuMemHostRegister_v2(void *pointer, size_t bytes, unsigned) {
  return inContext("cuMemHostRegister",
                   [&] { driver().pinned[static_cast<std::byte *>(pointer)] = bytes; });
}

EMULATED_CUDA cuMemHostUnregister(void *pointer) {
  return inContext("cuMemHostUnregister", [&] {
    flushAll();
    require(driver().pinned.erase(static_cast<std::byte *>(pointer)), Result::InvalidValue,
            "not registered");
  });
}

EMULATED_CUDA cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
  return atOnce("cuMemcpyHtoD", [&] {
    checkHost(from, bytes);
    toDevice(to, from, bytes);
  });
}

EMULATED_CUDA cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
  return atOnce("cuMemcpyDtoH", [&] {
    checkHost(to, bytes);
    toHost(to, from, bytes);
  });
}

EMULATED_CUDA cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes) {
  return atOnce("cuMemcpyDtoD", [&] { onDevice(to, from, bytes); });
}

// Pinned memory is read when the copy runs, other memory before the call returns.
EMULATED_CUDA cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
  return inContext("cuMemcpyHtoDAsync", [&] {
    checkHost(from, bytes);
    at(to, bytes);
    if (isPinned(from, bytes) || capturing(stream))
      return enqueue(stream, [=] { toDevice(to, from, bytes); });
    auto *begin = static_cast<const std::byte *>(from);
    enqueue(stream, [to, copy = std::vector<std::byte>(begin, begin + bytes)] {
      toDevice(to, copy.data(), copy.size());
    });
  });
}

EMULATED_CUDA cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
  return inContext("cuMemcpyDtoHAsync", [&] {
    checkHost(to, bytes);
    at(from, bytes);
    enqueue(stream, [=] { toHost(to, from, bytes); });
    if (!capturing(stream) && !isPinned(to, bytes))
      flush(streamOf(stream));
  });
}

EMULATED_CUDA cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream) {
  return inContext("cuMemcpyDtoDAsync", [&] {
    at(to, bytes);
    at(from, bytes);
    enqueue(stream, [=] { onDevice(to, from, bytes); });
  });
}

EMULATED_CUDA cuMemsetD8_v2(uint64_t to, unsigned char value, size_t count) {
  return atOnce("cuMemsetD8", [&] { fill(to, &value, sizeof value, count); });
}
EMULATED_CUDA cuMemsetD16_v2(uint64_t to, unsigned short value, size_t count) {
  return atOnce("cuMemsetD16", [&] { fill(to, &value, sizeof value, count); });
}
EMULATED_CUDA cuMemsetD32_v2(uint64_t to, unsigned value, size_t count) {
  return atOnce("cuMemsetD32", [&] { fill(to, &value, sizeof value, count); });
}
EMULATED_CUDA cuMemsetD8Async(uint64_t to, unsigned char value, size_t count, void *stream) {
  return fillAsync("cuMemsetD8Async", to, value, count, stream);
}
EMULATED_CUDA cuMemsetD32Async(uint64_t to, unsigned value, size_t count, void *stream) {
  return fillAsync("cuMemsetD32Async", to, value, count, stream);
}
