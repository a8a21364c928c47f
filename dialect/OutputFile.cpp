//===- OutputFile.cpp - files that the compiler's tools write -------------===//
#include "dialect/OutputFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"

using namespace mlir::transformer;
using llvm::createStringError;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

/// What `write` says, else what went wrong with the stream, which must not abort at its end.
static llvm::Error fill(llvm::raw_fd_ostream &out, const std::string &name,
                        llvm::function_ref<llvm::Error(llvm::raw_ostream &)> write) {
  llvm::Error problem = write(out);
  out.flush();
  std::error_code code = out.error();
  out.clear_error();
  if (!problem && code)
    return createStringError("cannot write " + name + ": " + code.message());
  return problem;
}

/// Whether there is something at `name` that must not be replaced by a new file.
static bool isWrittenDirectly(const std::string &name) {
  if (name == "-" || (fs::exists(name) && !fs::is_regular_file(name)))
    return true;
  llvm::StringRef text(name);
  return fs::is_symlink_file(name) && (text.starts_with("/dev/") || text.starts_with("/proc/"));
}

llvm::Error
mlir::transformer::writeOutput(const std::string &name,
                               llvm::function_ref<llvm::Error(llvm::raw_ostream &)> write,
                               bool executable) {
  if (isWrittenDirectly(name)) {
    std::error_code code;
    llvm::raw_fd_ostream out(name, code);
    if (code)
      return createStringError("cannot write " + name + ": " + code.message());
    return fill(out, name, write);
  }
  llvm::SmallString<128> target, beside;
  if (fs::real_path(name, target))
    target = name; // nothing is there
  beside = path::parent_path(target);
  path::append(beside, ".transformer-%%%%%%%%%%%%%%%%");
  auto file = fs::TempFile::create(beside, executable ? fs::all_all : fs::all_read | fs::all_write);
  if (!file)
    return createStringError("cannot write " + name + ": " + llvm::toString(file.takeError()));
  llvm::raw_fd_ostream out(file->FD, /*shouldClose=*/false);
  if (llvm::Error problem = fill(out, name, write))
    return llvm::joinErrors(std::move(problem), file->discard());
  if (llvm::Error problem = file->keep(target))
    return createStringError("cannot write " + name + ": " + llvm::toString(std::move(problem)));
  return llvm::Error::success();
}

llvm::Expected<TemporaryFile> TemporaryFile::create(llvm::StringRef prefix,
                                                    llvm::StringRef suffix) {
  llvm::SmallString<128> model, path;
  path::system_temp_directory(/*erasedOnReboot=*/true, model);
  path::append(model, prefix + "-%%%%%%%%%%%%." + suffix);
  std::error_code code;
  for (int attempt = 0; attempt < 16; ++attempt) {
    fs::createUniquePath(model, path, /*MakeAbsolute=*/false);
    llvm::sys::RemoveFileOnSignal(path); // before there is a file, or a signal between leaves it
    int descriptor = -1;
    code = fs::openFileForReadWrite(path, descriptor, fs::CD_CreateNew, fs::OF_None,
                                    fs::owner_read | fs::owner_write);
    if (!code) {
      fs::file_t handle = fs::convertFDToNativeFile(descriptor);
      (void)fs::closeFile(handle); // empty: nothing can be lost
      return TemporaryFile(path);
    }
    llvm::sys::DontRemoveFileOnSignal(path);
    if (code != std::errc::file_exists)
      break;
  }
  return createStringError("cannot write a temporary file (" + path + "): " + code.message());
}

TemporaryFile::~TemporaryFile() {
  if (file.empty())
    return;
  fs::remove(file);
  llvm::sys::DontRemoveFileOnSignal(file);
}
