//===- FilesInUse.h - files that signals know of ----------------*- C++ -*-===//
//
// Where somebody cuts off a mapped file, the next read of it is a SIGBUS; and a
// process that SIGTERM ends removes no temporary file. A handler of signals may
// neither lock nor allocate, so what it has to know stands in a list that only
// grows, of entries that are used again. The handlers are the command line's:
// a program that embeds the runtime keeps its own.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_FILESINUSE_H
#define TRANSFORMER_RUNTIME_FILESINUSE_H

#include <cstddef>
#include <string>

namespace transformer::runtime {

/// A file that signals know of while the object lives. Movable.
class FileInUse {
public:
  FileInUse() = default;
  FileInUse(FileInUse &&other) noexcept;
  FileInUse &operator=(FileInUse &&other) noexcept;
  ~FileInUse();

  /// A file that is mapped at `begin`, `bytes` long: when it cannot be read there, the process says
  /// so in a line that names `path` and ends with exit code 1.
  static FileInUse mapped(const std::string &path, const void *begin, size_t bytes);

  /// A file that is removed when a signal ends the process.
  static FileInUse temporary(const std::string &path);

  struct Entry;

private:
  explicit FileInUse(Entry *entry) : entry(entry) {}

  Entry *entry = nullptr;
};

/// Installs the handlers: of SIGBUS for mapped files (elsewhere it does what it did before), and of
/// the signals by which users end a program, where they have not been set to anything, for
/// temporary files; the exit status stays that of the signal. A file that grows beyond a limit of
/// the process is an error of writing, no longer a signal.
void handleSignals();

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_FILESINUSE_H
