//===- Link.cpp - objects to programs and modules --------------------------===//
#include "codegen/Link.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using llvm::StringRef;

/// The C++ driver that this compiler was built with, or the system's.
static llvm::Expected<std::string> linkerDriver() {
  for (StringRef name : {StringRef(TRANSFORMER_LINKER_DRIVER), StringRef("c++"), StringRef("g++"),
                         StringRef("clang++")})
    if (llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName(name))
      return *path;
  return llvm::createStringError(
      "no C++ compiler driver was found to link with: expected " TRANSFORMER_LINKER_DRIVER
      ", c++, g++ or clang++");
}

llvm::Error mlir::transformer::linkProgram(StringRef object, StringRef output, bool shared,
                                           StringRef runtimeDirectory) {
  llvm::Expected<std::string> driver = linkerDriver();
  if (!driver)
    return driver.takeError();
  std::string partial = (output + ".partial").str();
  std::string directory = runtimeDirectory.str();
  std::string mainLibrary = directory + "/libtransformer_runtime_main.a";
  std::string library = directory + "/libtransformer_runtime.a";
  llvm::SmallVector<StringRef> arguments = {*driver, object,   "-o",
                                            partial, "-Wl,-s", "-Wl,--gc-sections"};
  if (driver->find("clang") != std::string::npos)
    arguments.push_back("-fuse-ld=lld");
#ifdef TRANSFORMER_SANITIZE // the runtime libraries beside this compiler need it
  if (!shared)
    arguments.push_back("-fsanitize=address,undefined");
#endif
  if (shared) {
    arguments.append({"-shared", "-nostdlib", "-lc", "-lm"});
  } else {
    for (const std::string &file : {mainLibrary, library})
      if (!llvm::sys::fs::exists(file))
        return llvm::createStringError("runtime library " + file + " was not found");
    arguments.append({mainLibrary, library, TRANSFORMER_UTF8PROC, "-static-libstdc++",
                      "-static-libgcc", "-pthread", "-ldl", "-lm"});
  }
  llvm::SmallString<128> log;
  if (std::error_code code = llvm::sys::fs::createTemporaryFile("transformer-link", "log", log))
    return llvm::createStringError(code, "temporary file for the linker's messages");
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(log), StringRef(log)};
  std::string message;
  int status =
      llvm::sys::ExecuteAndWait(*driver, arguments, std::nullopt, redirects, 0, 0, &message);
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
