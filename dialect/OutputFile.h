//===- OutputFile.h - files that the compiler's tools write ---------------===//
#ifndef DIALECT_OUTPUTFILE_H
#define DIALECT_OUTPUTFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace mlir::transformer {

/// Writes what `write` gives to `path`; "-" is standard output. The file is written under a random
/// name of its own in the folder of `path`, whose place it takes when it is whole; a signal that
/// ends the process removes it, an error, too. A symbolic link at `path` stays, and what it leads
/// to is replaced. What is no regular file (a pipe, a device) or another name of an open one
/// (/dev/stdout) is written directly.
llvm::Error writeOutput(const std::string &path,
                        llvm::function_ref<llvm::Error(llvm::raw_ostream &)> write,
                        bool executable = false);

/// A file of a random name in the system's folder for temporary files. It goes with the object, or
/// with a signal that ends the process.
class TemporaryFile {
public:
  /// An empty one, its name made of `prefix` and `suffix` ("o", "so").
  static llvm::Expected<TemporaryFile> create(llvm::StringRef prefix, llvm::StringRef suffix);
  TemporaryFile(TemporaryFile &&other) : file(std::move(other.file)) { other.file.clear(); }
  TemporaryFile &operator=(TemporaryFile &&) = delete;
  ~TemporaryFile();

  llvm::StringRef path() const { return file; }

private:
  explicit TemporaryFile(llvm::StringRef path) : file(path) {}

  llvm::SmallString<128> file;
};

} // namespace mlir::transformer

#endif // DIALECT_OUTPUTFILE_H
