//===- Link.cpp - objects to programs and modules --------------------------===//
#include "codegen/driver/Link.h"
#include "dialect/OutputFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/FileSystem.h"
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
  for (StringRef name : names) // a path is given back as it is
    if (llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName(name);
        path && llvm::sys::fs::can_execute(*path))
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

/// Whether an ELF file goes on to its end, which the linker does not check: the table of sections,
/// which stands behind all else.
bool isWhole(const llvm::MemoryBuffer &program) {
  auto file = llvm::object::ELF64LEFile::create(program.getBuffer());
  auto sections = file ? file->sections() : file.takeError();
  bool whole = bool(sections);
  llvm::consumeError(sections.takeError());
  return whole;
}

/// Of what a linker and its driver have said the line that says why, without the linker's own
/// dumps of a crash.
std::string reasonIn(StringRef log) {
  llvm::SmallVector<StringRef> lines;
  log.split(lines, '\n', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  auto tells = [](StringRef line) { return line.contains("error: "); };
  auto found = llvm::find_if(lines, tells);
  if (found == lines.end())
    found = lines.begin();
  return found == lines.end() ? "the linker failed" : found->take_front(400).str();
}

} // namespace

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
mlir::transformer::linkProgram(llvm::ArrayRef<std::string> objects, StringRef name,
                               cpu::TargetAttr target, bool shared, StringRef runtimeDirectory) {
  llvm::Triple triple(target.getTriple());
  bool cross = triple.getArch() != llvm::Triple(llvm::sys::getDefaultTargetTriple()).getArch();
  llvm::Expected<std::string> driver = linkerDriver(triple, cross);
  if (!driver)
    return driver.takeError();
  auto linked = TemporaryFile::create("transformer-compile", "linked");
  auto log = TemporaryFile::create("transformer-compile", "log");
  if (!linked || !log)
    return llvm::joinErrors(linked.takeError(), log.takeError());
  // lld maps the file that it writes, and dies of it when the disk is full; not standard output.
  bool lld = StringRef(*driver).contains("clang");
  std::vector<std::string> arguments = {*driver, "-o", lld ? "-" : linked->path().str(), "-Wl,-s",
                                        "-Wl,--gc-sections"};
  llvm::append_range(arguments, objects);
  if (lld) {
    arguments.push_back("-fuse-ld=lld");
    arguments.push_back(("--target=" + target.getTriple()).str());
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
  std::optional<StringRef> redirects[] = {std::nullopt, lld ? linked->path() : log->path(),
                                          log->path()};
  std::string message;
  llvm::SmallVector<StringRef> words(arguments.begin(), arguments.end());
  if (llvm::sys::ExecuteAndWait(*driver, words, std::nullopt, redirects, 0, 0, &message) != 0) {
    if (auto text = llvm::MemoryBuffer::getFile(log->path()); text && message.empty())
      message = reasonIn((*text)->getBuffer());
    return llvm::createStringError("linking " + name + " failed: " + message);
  }
  auto program = llvm::MemoryBuffer::getFile(linked->path(), /*IsText=*/false,
                                             /*RequiresNullTerminator=*/false);
  if (!program || !isWhole(**program))
    return llvm::createStringError("linking " + name + " failed: cannot write " + linked->path() +
                                   ": no space left?");
  return std::move(*program);
}
