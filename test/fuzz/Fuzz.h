//===- Fuzz.h - what the fuzz targets share ---------------------*- C++ -*-===//
//
// A target gives bytes to a parser as the files that it reads. An error that
// the parser tells is an answer; anything else that ends the target is found.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_TEST_FUZZ_FUZZ_H
#define TRANSFORMER_TEST_FUZZ_FUZZ_H

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace transformer::fuzz {

/// A regular file in memory.
class MemoryFile {
public:
  MemoryFile() : file(memfd_create("input", 0)) {}

  void fill(std::string_view content) const {
    if (ftruncate(file, 0) != 0 ||
        pwrite(file, content.data(), content.size(), 0) != static_cast<ssize_t>(content.size()))
      abort();
  }

  std::string path() const { return "/proc/self/fd/" + std::to_string(file); }

private:
  int file; // until the process ends
};

/// A folder of files in memory, which is there until the process ends.
class Folder {
public:
  explicit Folder(std::initializer_list<const char *> names) : files(names.size()) {
    char name[] = "/tmp/transformer-fuzz-XXXXXX";
    path = mkdtemp(name);
    auto file = files.begin();
    for (const char *name : names) {
      auto link = path / name;
      std::filesystem::create_directories(link.parent_path());
      std::filesystem::create_symlink((file++)->path(), link);
    }
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }

  /// Gives every file its part of `content`, which zero bytes divide.
  void fill(std::string_view content) const {
    for (const MemoryFile &file : files) {
      size_t end = std::min(content.find('\0'), content.size());
      file.fill(content.substr(0, end));
      content.remove_prefix(std::min(end + 1, content.size()));
    }
  }

  std::filesystem::path path;
  std::vector<MemoryFile> files;
};

/// Reads every byte.
inline void sum(const char *data, size_t size) {
  volatile char total = 0;
  for (size_t i = 0; i < size; ++i)
    total = static_cast<char>(total + data[i]);
}

inline std::string_view text(const uint8_t *data, size_t size) {
  return {reinterpret_cast<const char *>(data), size};
}

} // namespace transformer::fuzz

#endif // TRANSFORMER_TEST_FUZZ_FUZZ_H
