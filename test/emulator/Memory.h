//===- Memory.h - the device's memory ---------------------------*- C++ -*-===//
//
// Every allocation has a window of 64 GiB of addresses of its own, which is never
// given again and which no host pointer can lie in: whatever reads or writes
// beyond an allocation, after it was freed, or on the host, is found.
// Beside the bytes stand who wrote them: per 4 bytes, which of them were ever
// written, and which thread of which launch wrote them last.
//
//===----------------------------------------------------------------------===//
#ifndef EMULATOR_MEMORY_H
#define EMULATOR_MEMORY_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace emulator {

/// The highest four bits of an address say what it points to.
enum class Window : uint64_t { Global = 1, Shared = 2, Local = 3, Parameter = 4 };
constexpr int windowShift = 60;
constexpr uint64_t windowOf(Window window) { return static_cast<uint64_t>(window) << windowShift; }
inline bool isIn(Window window, uint64_t address) {
  return address >> windowShift == static_cast<uint64_t>(window);
}

/// Shared memory starts here, so that a kernel that takes it for 0 is found.
constexpr uint32_t sharedBase = 1024;

struct Allocation {
  static constexpr int shift = 36;

  Allocation(uint64_t address, uint64_t size, std::string name, bool readOnly);
  ~Allocation();
  Allocation(const Allocation &) = delete;
  Allocation &operator=(const Allocation &) = delete;

  uint64_t address, size;
  std::string name; ///< of a variable, else empty
  bool readOnly;    ///< .const
  std::byte *data;
  uint8_t *written;  ///< a bit a byte, 4 bytes each
  uint64_t *writers; ///< see writerTag

  /// Whether all bytes of [offset, offset + bytes) have been written.
  bool isWritten(uint64_t offset, uint64_t bytes) const;
  void setWritten(uint64_t offset, uint64_t bytes);
  void forgetWriters();

private:
  size_t mapped;
};

/// 20 bits of the launch, 40 of the thread in it, 4 of which bytes.
constexpr uint64_t writerTag(uint64_t launch, uint64_t thread, uint64_t bytes) {
  return launch << 44 | (thread & 0xffffffffff) << 4 | bytes;
}

class Memory {
public:
  uint64_t allocate(uint64_t size, std::string name = {}, bool readOnly = false);
  /// False if nothing starts there.
  bool free(uint64_t address);
  void clear();
  uint64_t allocated() const { return total; }
  /// Launches are counted from 1 again.
  void forgetWriters();

  /// What `address` lies in the window of, or null.
  Allocation *find(uint64_t address) const {
    if (!isIn(Window::Global, address))
      return nullptr;
    uint64_t id = (address & ~windowOf(Window::Global)) >> Allocation::shift;
    return id < allocations.size() ? allocations[id].get() : nullptr;
  }

  /// That of [address, address + bytes), or null.
  Allocation *find(uint64_t address, uint64_t bytes) const {
    Allocation *found = find(address);
    uint64_t offset = address & ((uint64_t{1} << Allocation::shift) - 1);
    return found && offset <= found->size && bytes <= found->size - offset ? found : nullptr;
  }

  /// "4 bytes at 0x...: 12 bytes beyond the end of the allocation of 64 bytes at 0x...".
  std::string describe(uint64_t address, uint64_t bytes) const;

private:
  std::vector<std::unique_ptr<Allocation>> allocations;
  uint64_t total = 0;
};

/// The one device's.
Memory &memory();

} // namespace emulator

#endif // EMULATOR_MEMORY_H
