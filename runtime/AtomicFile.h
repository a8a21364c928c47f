//===- AtomicFile.h - files that appear whole or not at all -----*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_ATOMICFILE_H
#define TRANSFORMER_RUNTIME_ATOMICFILE_H

#include <cstddef>
#include <string>

namespace transformer::runtime {

/// Writes a file under a temporary name beside `path` and renames it on commit. Without a commit
/// nothing remains. A `path` that is no regular file (/dev/stdout, a pipe) is written directly.
class AtomicFile {
public:
  /// Throws Error when the folder cannot be written.
  explicit AtomicFile(const std::string &path);
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;
  ~AtomicFile();

  /// Appends `size` bytes; throws Error when the disk is full or the like.
  void write(const void *data, size_t size);
  void write(const std::string &text) { write(text.data(), text.size()); }

  /// Closes and renames to `path`.
  void commit();

private:
  std::string path, temporary;
  int file = -1;
};

/// The contents of a small text file. Throws Error naming `path`.
std::string readTextFile(const std::string &path);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_ATOMICFILE_H
