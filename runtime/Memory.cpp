//===- Memory.cpp - mapped files and aligned memory -----------------------===//
#include "runtime/Memory.h"

#include "runtime/Error.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
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

} // namespace

AlignedBuffer::AlignedBuffer(size_t size) : bytes(size) {
  if (size < hugePage) {
    pointer = static_cast<char *>(std::aligned_alloc(bufferAlignment, alignUp(size ? size : 1)));
  } else if (size < SIZE_MAX / 2) {
    // One huge page more, so that the buffer can start at a multiple of a huge page.
    mapped = (size + hugePage - 1) / hugePage * hugePage + hugePage;
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

AlignedBuffer::AlignedBuffer(AlignedBuffer &&other) noexcept
    : pointer(std::exchange(other.pointer, nullptr)), bytes(std::exchange(other.bytes, 0)),
      mapped(std::exchange(other.mapped, 0)) {}

AlignedBuffer &AlignedBuffer::operator=(AlignedBuffer &&other) noexcept {
  std::swap(pointer, other.pointer);
  std::swap(bytes, other.bytes);
  std::swap(mapped, other.mapped);
  return *this;
}

AlignedBuffer::~AlignedBuffer() {
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
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    fail("{}: cannot open: {}", path, std::strerror(errno));
  struct stat status;
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(file);
    fail("{}: not a regular file", path);
  }
  total = static_cast<uint64_t>(status.st_size);
  changed = int64_t(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec;
  if (offset > total || (size != npos && size > total - offset)) {
    close(file);
    fail("{}: truncated: expected {} bytes from offset {}, the file has {}", path, size, offset,
         total);
  }
  bytes = size == npos ? total - offset : size;
  skip = offset % pageSize();
  if (bytes == 0) {
    close(file);
    base = nullptr;
    skip = 0;
    return;
  }
  void *map =
      mmap(nullptr, bytes + skip, PROT_READ, MAP_PRIVATE, file, static_cast<off_t>(offset - skip));
  int problem = errno;
  close(file);
  if (map == MAP_FAILED)
    fail("{}: cannot map: {}", path, std::strerror(problem));
  base = static_cast<char *>(map);
}

MappedFile::MappedFile(MappedFile &&other) noexcept
    : base(std::exchange(other.base, nullptr)), skip(std::exchange(other.skip, 0)),
      bytes(std::exchange(other.bytes, 0)), total(std::exchange(other.total, 0)),
      changed(std::exchange(other.changed, 0)) {}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(base, other.base);
  std::swap(skip, other.skip);
  std::swap(bytes, other.bytes);
  std::swap(total, other.total);
  std::swap(changed, other.changed);
  return *this;
}

MappedFile::~MappedFile() {
  if (base)
    munmap(base, bytes + skip);
}

Pages MappedFile::pages(uint64_t begin, uint64_t length) const {
  if (!base || length == 0)
    return {};
  uint64_t page = pageSize();
  uint64_t first = (skip + begin + page - 1) / page * page;
  uint64_t last = skip + begin + length;
  // The file's last page is whole even if its bytes are not.
  last = last == skip + bytes ? (last + page - 1) / page * page : last / page * page;
  return first < last ? Pages{base + first, last - first} : Pages{};
}

void MappedFile::preferHugePages() const {
  if (base)
    madvise(base, bytes + skip, MADV_HUGEPAGE);
}

void releasePages(Pages pages) {
  if (pages.bytes != 0)
    madvise(pages.begin, pages.bytes, MADV_DONTNEED);
}

} // namespace transformer::runtime
