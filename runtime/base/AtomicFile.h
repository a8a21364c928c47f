//===- AtomicFile.h - files that appear whole or not at all -----*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_ATOMICFILE_H
#define TRANSFORMER_RUNTIME_ATOMICFILE_H

#include "runtime/base/FilesInUse.h"

#include <cstddef>
#include <string>

namespace transformer::runtime {

/// Writes a file that appears at `path` on commit; without a commit nothing remains, whatever ends
/// the process. Until then the file has no name, where the file system can do that (O_TMPFILE);
/// else a random one in the folder of `path`, which a process that is killed leaves behind.
///
/// A file that is there is replaced, and the new one gets its permissions; a symbolic link stays,
/// and the file that it leads to is replaced. What is no regular file (a pipe, a device) or no file
/// of its own (/dev/stdout) is written directly.
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

  /// Closes the file, which then stands at `path`; with `isDurable` also after the machine fails.
  void commit(bool isDurable = false);

private:
  enum Name { None, Random, Own }; // of the file being written

  bool openUnnamed();
  void openRandom();
  void nameRandomly();
  bool moveToPath();
  [[noreturn]] void failToWrite(int problem) const;

  std::string path, target; // target: `path` without symbolic links
  Name name = Own;
  std::string temporary; // its path while it has a random name
  FileInUse removal;     // of `temporary`
  int file = -1;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_ATOMICFILE_H
