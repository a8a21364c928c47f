//===- Link.cpp - objects to programs and modules --------------------------===//
#include "codegen/Link.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using llvm::StringRef;
using namespace mlir::transformer;

namespace {

/// A C++ driver that links for `triple`: the one that this compiler was built
/// with, or the system's. For another architecture than this machine's (`cross`)
/// a clang, told its target, or a GCC for it.
llvm::Expected<std::string> linkerDriver(const llvm::Triple &triple, bool cross) {
  std::string gcc = (triple.getArchName() + "-linux-gnu-g++").str();
  llvm::SmallVector<StringRef> names = {TRANSFORMER_LINKER_DRIVER, "c++", "g++", "clang++"};
  if (cross) {
    names = {gcc, "clang++"};
    if (StringRef(TRANSFORMER_LINKER_DRIVER).contains("clang"))
      names.insert(names.begin(), TRANSFORMER_LINKER_DRIVER);
  }
  for (StringRef name : names)
    if (llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName(name))
      return *path;
  return llvm::createStringError("no C++ compiler driver was found to link with: expected " +
                                 llvm::join(names, ", "));
}

/// The libraries of an executable, in the linker's order. `cross`: the name of
/// another architecture than this machine's, or empty.
llvm::Expected<std::vector<std::string>> runtimeLibraries(StringRef directory, StringRef cross) {
  std::vector<std::string> files;
  for (StringRef name :
       {"libtransformer_runtime_main.a", "libtransformer_runtime.a", "libutf8proc.a"}) {
    llvm::SmallString<128> file(directory);
    llvm::sys::path::append(file, cross, name);
    if (!llvm::sys::fs::exists(file))
      return llvm::createStringError(
          "runtime library " + file + " was not found" +
          (cross.empty() ? ""
                         : "\nexecutables for " + cross + " need it: ninja -C build " + cross +
                               "-runtime; a module (.so) or --emit object does not"));
    files.push_back(file.str().str());
  }
  return files;
}

} // namespace

llvm::Error mlir::transformer::linkProgram(StringRef object, StringRef output,
                                           const CpuTarget &target, bool shared,
                                           StringRef runtimeDirectory) {
  llvm::Triple triple(target.triple);
  bool cross = triple.getArch() != llvm::Triple(llvm::sys::getDefaultTargetTriple()).getArch();
  llvm::Expected<std::string> driver = linkerDriver(triple, cross);
  if (!driver)
    return driver.takeError();
  std::string partial = (output + ".partial").str();
  std::vector<std::string> arguments = {*driver, object.str(), "-o",
                                        partial, "-Wl,-s",     "-Wl,--gc-sections"};
  if (StringRef(*driver).contains("clang")) {
    arguments.push_back("-fuse-ld=lld");
    arguments.push_back("--target=" + target.triple);
  }
#ifdef TRANSFORMER_SANITIZE // the runtime libraries beside this compiler need it
  if (!shared && !cross)
    arguments.push_back("-fsanitize=address,undefined");
#endif
  if (shared) {
    arguments.insert(arguments.end(), {"-shared", "-nostdlib", "-lc", "-lm"});
  } else {
    auto libraries = runtimeLibraries(runtimeDirectory, cross ? triple.getArchName() : StringRef());
    if (!libraries)
      return libraries.takeError();
    llvm::append_range(arguments, *libraries);
    arguments.insert(arguments.end(),
                     {"-static-libstdc++", "-static-libgcc", "-pthread", "-ldl", "-lm"});
  }
  llvm::SmallString<128> log;
  if (std::error_code code = llvm::sys::fs::createTemporaryFile("transformer-link", "log", log))
    return llvm::createStringError(code, "temporary file for the linker's messages");
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(log), StringRef(log)};
  std::string message;
  llvm::SmallVector<StringRef> words(arguments.begin(), arguments.end());
  int status = llvm::sys::ExecuteAndWait(*driver, words, std::nullopt, redirects, 0, 0, &message);
  if (status != 0) {
    if (auto text = llvm::MemoryBuffer::getFile(log))
      message += (*text)->getBuffer().take_front(400);
    llvm::sys::fs::remove(log);
    llvm::sys::fs::remove(partial);
    return llvm::createStringError("linking " + output + " failed: " + message);
  }
  llvm::sys::fs::remove(log);
  if (std::error_code code = llvm::sys::fs::rename(partial, output))
    return llvm::createStringError(code, "cannot write " + output);
  return llvm::Error::success();
}
