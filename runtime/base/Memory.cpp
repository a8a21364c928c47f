//===- Memory.cpp - mapped files and aligned memory -----------------------===//
#include "runtime/base/Memory.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace transformer::runtime {
namespace {

uint64_t pageSize() {
  static const auto size = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return size;
}

constexpr uint64_t unknown = ~uint64_t(0);

/// The number behind a word at the start of a line of a file of the kernel's.
uint64_t numberBehind(const char *path, std::string_view word) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(word))
      continue;
    size_t at = line.find_first_of("0123456789", word.size());
    return at == std::string::npos ? unknown : std::strtoull(line.c_str() + at, nullptr, 10);
  }
  return unknown;
}

/// What is left of the control group's limit; its files' pages can be given back.
uint64_t leftInControlGroup() {
  constexpr const char *folder[] = {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current",
                                    "/sys/fs/cgroup/memory.stat"};
  uint64_t limit = numberBehind(folder[0], ""), used = numberBehind(folder[1], "");
  uint64_t files = numberBehind(folder[2], "file ");
  if (limit == unknown || used == unknown)
    return unknown;
  used -= files == unknown ? 0 : std::min(files, used);
  return limit > used ? limit - used : 0;
}

} // namespace

uint64_t availableMemory() {
  uint64_t kilobytes = numberBehind("/proc/meminfo", "MemAvailable:");
  uint64_t system = kilobytes == unknown ? unknown : kilobytes * 1024;
  return std::min(system, leftInControlGroup());
}

AlignedBuffer::AlignedBuffer(size_t size) : bytes(size) {
  if (size < hugePage) {
    pointer = static_cast<char *>(std::aligned_alloc(bufferAlignment, alignUp(size ? size : 1)));
  } else if (size < SIZE_MAX / 2) {
    // One huge page more, so that the buffer can start at a multiple of a huge page. Its end is in
    // small ones: rounded up, the buffers of a training step of GPT-2 take 186 MiB more.
    mapped = alignUp(size, pageSize()) + hugePage;
    void *map = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map != MAP_FAILED) {
      auto address = reinterpret_cast<uintptr_t>(map);
      auto start = (address + hugePage - 1) / hugePage * hugePage;
      auto end = address + mapped;
      auto used = start + mapped - hugePage;
      if (start != address)
        munmap(map, start - address);
      if (end != used)
        munmap(reinterpret_cast<void *>(used), end - used);
      mapped -= hugePage;
      pointer = reinterpret_cast<char *>(start);
      madvise(pointer, mapped, MADV_HUGEPAGE); // a hint: failure changes nothing but speed
    }
  }
  if (!pointer)
    fail("out of memory: cannot allocate {} bytes", size);
}

AlignedBuffer::AlignedBuffer(std::shared_ptr<const AlignedBuffer> buffer, size_t offset,
                             size_t size)
    : pointer(buffer->data() + offset), bytes(size), whole(std::move(buffer)) {}

AlignedBuffer::AlignedBuffer(AlignedBuffer &&other) noexcept
    : pointer(std::exchange(other.pointer, nullptr)), bytes(std::exchange(other.bytes, 0)),
      mapped(std::exchange(other.mapped, 0)), whole(std::move(other.whole)) {}

AlignedBuffer &AlignedBuffer::operator=(AlignedBuffer &&other) noexcept {
  std::swap(pointer, other.pointer);
  std::swap(bytes, other.bytes);
  std::swap(mapped, other.mapped);
  std::swap(whole, other.whole);
  return *this;
}

AlignedBuffer::~AlignedBuffer() {
  if (whole)
    return;
  if (mapped)
    munmap(pointer, mapped);
  else
    std::free(pointer);
}

void *Arena::reserve(size_t size) {
  if (size > buffer.size() || !buffer.data()) {
    buffer = AlignedBuffer(); // first give back, so that both are never held
    buffer = AlignedBuffer(size);
  }
  return buffer.data();
}

MappedFile::MappedFile(const std::string &path, uint64_t offset, uint64_t size) {
  state.path = path;
  try {
    map(offset, size);
  } catch (...) {
    release();
    throw;
  }
}

void MappedFile::map(uint64_t offset, uint64_t size) {
  const std::string &path = state.path;
  // Without O_NONBLOCK a pipe would be waited for; reading regular files it changes nothing.
  state.file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (state.file < 0)
    fail("{}: cannot open: {}", path, std::strerror(errno));
  struct stat status;
  if (fstat(state.file, &status) != 0 || !S_ISREG(status.st_mode))
    fail("{}: not a regular file", path);
  state.version = currentVersion();
  uint64_t total = state.version.size;
  if (offset > total || (size != npos && size > total - offset))
    fail("{}: truncated: expected {} bytes from offset {}, the file has {}", path, size, offset,
         total);
  state.bytes = size == npos ? total - offset : size;
  if (state.bytes == 0)
    return;
  uint64_t skip = offset % pageSize();
  void *map = mmap(nullptr, state.bytes + skip, PROT_READ, MAP_PRIVATE, state.file,
                   static_cast<off_t>(offset - skip));
  if (map == MAP_FAILED)
    fail("{}: cannot map: {}", path, std::strerror(errno));
  state.base = static_cast<char *>(map);
  state.skip = skip;
  state.use = FileInUse::mapped(path, map, state.bytes + skip);
}

MappedFile::~MappedFile() { release(); }

void MappedFile::release() {
  state.use = {}; // before something else can be mapped there
  if (state.base)
    munmap(state.base, state.bytes + state.skip);
  if (state.file >= 0)
    close(state.file);
}

MappedFile::Version MappedFile::currentVersion() const {
  struct stat status = {};
  fstat(state.file, &status);
  return {static_cast<uint64_t>(status.st_size),
          int64_t(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec};
}

void MappedFile::checkUnchanged() const {
  if (state.file >= 0 && currentVersion() != state.version)
    fail("{}: changed while it was in use", state.path);
}

Pages MappedFile::pages(uint64_t begin, uint64_t length) const {
  if (!state.base || length == 0)
    return {};
  uint64_t page = pageSize(), skip = state.skip;
  uint64_t first = (skip + begin + page - 1) / page * page;
  uint64_t last = skip + begin + length;
  // The file's last page is whole even if its bytes are not.
  last = last == skip + state.bytes ? (last + page - 1) / page * page : last / page * page;
  return first < last ? Pages{state.base + first, last - first} : Pages{};
}

Pages MappedFile::hugePages(uint64_t begin, uint64_t length) const {
  if (!state.base || length == 0)
    return {};
  auto base = reinterpret_cast<uintptr_t>(state.base), first = base + state.skip + begin;
  uintptr_t end = base + alignUp(state.skip + state.bytes, pageSize());
  uintptr_t from = std::max(base, first / hugePage * hugePage);
  uintptr_t to = std::min<uintptr_t>(end, alignUp(first + length, hugePage));
  return {state.base + (from - base), to - from};
}

void MappedFile::preferHugePages() const {
  if (state.base)
    madvise(state.base, state.bytes + state.skip, MADV_HUGEPAGE);
}

void releasePages(Pages pages) {
  if (pages.bytes != 0)
    madvise(pages.begin, pages.bytes, MADV_DONTNEED);
}

void readHereAndThere(Pages pages) {
  if (pages.bytes != 0)
    madvise(pages.begin, pages.bytes, MADV_NOHUGEPAGE);
}

} // namespace transformer::runtime
