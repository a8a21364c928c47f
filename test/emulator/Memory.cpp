//===- Memory.cpp - the device's memory -----------------------------------===//
#include "test/emulator/Memory.h"

#include "test/emulator/Fault.h"

#include <cstring>
#include <sys/mman.h>

namespace emulator {

namespace {

constexpr size_t page = 4096;
size_t pages(size_t bytes) { return (bytes + page - 1) / page * page; }

} // namespace

// Pages are the kernel's, zeroed when they are touched: a large arena costs what is used of it.
Allocation::Allocation(uint64_t address, uint64_t size, std::string name, bool readOnly)
    : address(address), size(size), name(std::move(name)), readOnly(readOnly) {
  size_t granules = size / 4 + 8, dataBytes = pages(size + 64), writerBytes = pages(granules * 8);
  mapped = dataBytes + writerBytes + pages(granules);
  void *begin = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED)
    throw Fault{Result::OutOfMemory, text("%llu bytes", (unsigned long long)size)};
  data = static_cast<std::byte *>(begin);
  writers = reinterpret_cast<uint64_t *>(data + dataBytes);
  written = reinterpret_cast<uint8_t *>(data + dataBytes + writerBytes);
}

void Allocation::forgetWriters() {
  madvise(writers, reinterpret_cast<std::byte *>(written) - reinterpret_cast<std::byte *>(writers),
          MADV_DONTNEED);
}

Allocation::~Allocation() { munmap(data, mapped); }

bool Allocation::isWritten(uint64_t offset, uint64_t bytes) const {
  for (uint64_t i = offset; i < offset + bytes; ++i) {
    if (i % 4 == 0 && i + 4 <= offset + bytes) {
      if (written[i / 4] != 0xf)
        return false;
      i += 3;
    } else if (!(written[i / 4] >> i % 4 & 1))
      return false;
  }
  return true;
}

void Allocation::setWritten(uint64_t offset, uint64_t bytes) {
  uint64_t i = offset, end = offset + bytes;
  for (; i < end && i % 4; ++i)
    __atomic_fetch_or(&written[i / 4], 1 << i % 4, __ATOMIC_RELAXED);
  if (uint64_t whole = i < end ? (end - i) / 4 : 0) {
    std::memset(&written[i / 4], 0xf, whole);
    i += whole * 4;
  }
  for (; i < end; ++i)
    __atomic_fetch_or(&written[i / 4], 1 << i % 4, __ATOMIC_RELAXED);
}

uint64_t Memory::allocate(uint64_t size, std::string name, bool readOnly) {
  if (size >> Allocation::shift)
    throw Fault{Result::OutOfMemory, text("%llu bytes", (unsigned long long)size)};
  if (allocations.empty())
    allocations.emplace_back(); // the first window stays empty: small numbers are no addresses
  uint64_t address = windowOf(Window::Global) | uint64_t{allocations.size()} << Allocation::shift;
  allocations.push_back(std::make_unique<Allocation>(address, size, std::move(name), readOnly));
  total += size;
  return address;
}

bool Memory::free(uint64_t address) {
  Allocation *found = find(address);
  if (!found || found->address != address)
    return false;
  total -= found->size;
  allocations[(address & ~windowOf(Window::Global)) >> Allocation::shift].reset();
  return true;
}

void Memory::clear() {
  for (auto &allocation : allocations) // the windows stay taken
    allocation.reset();
  total = 0;
}

void Memory::forgetWriters() {
  for (auto &allocation : allocations)
    if (allocation)
      allocation->forgetWriters();
}

std::string Memory::describe(uint64_t address, uint64_t bytes) const {
  using ull = unsigned long long;
  std::string what = text("%llu bytes at 0x%llx: ", (ull)bytes, (ull)address);
  auto whose = [](const Allocation &of) {
    return text("%s%s of %llu bytes at 0x%llx", of.name.empty() ? "the allocation" : "variable ",
                of.name.c_str(), (ull)of.size, (ull)of.address);
  };
  if (!isIn(Window::Global, address))
    return what + "no address of the device's memory";
  uint64_t offset = address & ((uint64_t{1} << Allocation::shift) - 1);
  if (const Allocation *next = find(address + (uint64_t{1} << 20)); next && next->address > address)
    return what + text("%llu bytes before ", (ull)(next->address - address)) + whose(*next);
  const Allocation *found = find(address);
  if (!found)
    return what + "nothing is allocated there (any more)";
  if (offset >= found->size)
    return what + text("%llu bytes beyond the end of ", (ull)(offset - found->size)) +
           whose(*found);
  return what + text("reaches beyond the end of ") + whose(*found);
}

Memory &memory() {
  static Memory memory;
  return memory;
}

} // namespace emulator
