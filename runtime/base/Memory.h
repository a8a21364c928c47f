//===- Memory.h - mapped files and aligned memory ---------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_MEMORY_H
#define TRANSFORMER_RUNTIME_MEMORY_H

#include "runtime/base/FilesInUse.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace transformer::runtime {

/// Every buffer that a module sees starts at a multiple of this many bytes.
constexpr size_t bufferAlignment = 64;

/// What the kernel maps and fills at once in large buffers and files, if it can.
constexpr size_t hugePage = size_t(2) << 20;

/// `size` rounded up to a multiple of `alignment`.
constexpr size_t alignUp(size_t size, size_t alignment = bufferAlignment) {
  return (size + alignment - 1) / alignment * alignment;
}

/// Memory that starts at a multiple of 64 bytes; uninitialised when small, zero and on huge pages
/// (if the kernel gives any) when 2 MiB or larger. Owned, movable.
class AlignedBuffer {
public:
  AlignedBuffer() = default;
  /// Throws Error when there is no memory. A size of 0 is one byte.
  explicit AlignedBuffer(size_t size);
  /// A part of another buffer, from a multiple of 64 bytes on, which lives as long as its parts do.
  AlignedBuffer(std::shared_ptr<const AlignedBuffer> whole, size_t offset, size_t size);
  AlignedBuffer(AlignedBuffer &&other) noexcept;
  AlignedBuffer &operator=(AlignedBuffer &&other) noexcept;
  ~AlignedBuffer();

  char *data() const { return pointer; }
  size_t size() const { return bytes; }
  /// Whether a new buffer of this size is zero.
  bool zero() const { return whole ? whole->zero() : mapped != 0; }

private:
  char *pointer = nullptr;
  size_t bytes = 0;
  size_t mapped = 0; // bytes of the mapping, 0 when from the heap
  std::shared_ptr<const AlignedBuffer> whole;
};

/// Scratch memory that only grows: `reserve` keeps no contents.
class Arena {
public:
  /// At least `size` bytes, 64-byte aligned; valid until the next reserve.
  void *reserve(size_t size);

private:
  AlignedBuffer buffer;
};

/// About how many bytes this process may still take: what the system has and what the control group
/// leaves; no limit where neither is known.
uint64_t availableMemory();

/// Whole pages of memory.
struct Pages {
  char *begin = nullptr;
  size_t bytes = 0;
};

/// Tells the kernel that pages of a mapped file are not needed soon. Their contents stay readable,
/// but they no longer count as this process' memory.
void releasePages(Pages pages);

/// Tells the kernel that few places of these pages will be read: a huge page of the page cache is
/// not mapped, and counted as this process' memory, for one of them.
void readHereAndThere(Pages pages);

/// A file, or a part of it, mapped read-only. Movable. The command line ends with exit code 1 and a
/// line that names the file where a page of it cannot be read any more (FilesInUse.h).
class MappedFile {
public:
  MappedFile() = default;
  /// Maps `size` bytes from `offset` (any offset), or all that follow with size = npos.
  /// Throws Error (naming the path) when the file cannot be read, is shorter or is no regular file:
  /// a pipe is not waited for.
  explicit MappedFile(const std::string &path, uint64_t offset = 0, uint64_t size = npos);
  MappedFile(MappedFile &&other) noexcept : state(std::exchange(other.state, {})) {}
  MappedFile &operator=(MappedFile &&other) noexcept {
    std::swap(state, other.state);
    return *this;
  }
  ~MappedFile();

  const char *data() const { return state.base + state.skip; }
  uint64_t size() const { return state.bytes; }
  std::string_view text() const { return {data(), size()}; }

  /// Of the whole file, when it was opened: its size, and when it was changed last, in nanoseconds
  /// since 1970.
  uint64_t fileSize() const { return state.version.size; }
  int64_t modified() const { return state.version.modified; }

  /// Throws Error when the file is not as it was when it was opened: what was read from it since
  /// may be of both. One that has been replaced, rather than written to, is as it was.
  void checkUnchanged() const;

  /// The whole pages inside [begin, begin + length) of data().
  Pages pages(uint64_t begin, uint64_t length) const;

  /// All huge pages that hold some of it, as far as the mapping reaches: what may have been mapped
  /// when it was read.
  Pages hugePages(uint64_t begin, uint64_t length) const;

  /// Asks for huge pages where the file has to be read from disk. A hint.
  void preferHugePages() const;

  static constexpr uint64_t npos = ~uint64_t(0);

private:
  struct Version {
    uint64_t size = 0;
    int64_t modified = 0;
    bool operator==(const Version &) const = default;
  };

  struct State {
    std::string path;
    int file = -1;
    Version version;
    char *base = nullptr;
    uint64_t skip = 0; // from the page boundary to the offset asked for
    uint64_t bytes = 0;
    FileInUse use;
  };

  Version currentVersion() const;
  void map(uint64_t offset, uint64_t size);
  void release();

  State state;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_MEMORY_H
