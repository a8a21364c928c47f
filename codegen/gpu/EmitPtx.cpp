//===- EmitPtx.cpp - GPU modules as PTX and machine code ------------------===//
#include "codegen/gpu/EmitPtx.h"
#include "dialect/OutputFile.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace mlir::transformer;
using llvm::createStringError;

llvm::Expected<std::string> mlir::transformer::ptxOf(ModuleOp module) {
  std::string ptx;
  for (auto binary : module.getOps<gpu::BinaryOp>())
    for (Attribute object : binary.getObjects())
      ptx += cast<gpu::ObjectAttr>(object).getObject().getValue();
  if (ptx.empty())
    return createStringError("there is no kernel");
  ptx.resize(llvm::StringRef(ptx).rtrim('\0').size());
  llvm::SmallVector<llvm::StringRef> match;
  if (llvm::Regex("\\.extern \\.func[^;]*[ \t]([a-zA-Z_][a-zA-Z0-9_]*)[ \t\n]*\\(")
          .match(ptx, &match))
    return createStringError("a kernel calls " + match[1] + ", which no device has");
  return ptx;
}

std::optional<std::string> mlir::transformer::findPtxas() {
  if (llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName("ptxas"))
    return *path;
  llvm::SmallVector<std::string> folders;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"})
    if (std::optional<std::string> folder = llvm::sys::Process::GetEnv(variable))
      folders.push_back(*folder);
  if (folders.empty())
    folders.push_back("/usr/local/cuda");
  for (const std::string &folder : folders)
    if (std::string path = folder + "/bin/ptxas"; llvm::sys::fs::can_execute(path))
      return path;
  return std::nullopt;
}

/// What `log`, of ptxas -v, says of kernels whose registers spill, or whose products wait for each
/// other though they need not (messages of the 7500s); else empty.
static std::string problemsOf(llvm::StringRef log) {
  llvm::StringRef kernel;
  llvm::Regex name("Compiling entry function '([^']*)'");
  llvm::Regex spilled("([1-9][0-9]*) bytes spill stores");
  llvm::Regex serialized("\\(C75[0-9][0-9]\\).*");
  for (llvm::StringRef line : llvm::split(log, '\n')) {
    llvm::SmallVector<llvm::StringRef> match;
    if (name.match(line, &match))
      kernel = match[1];
    if (spilled.match(line, &match))
      return ("kernel " + kernel + " spills " + match[1] + " bytes").str();
    if (serialized.match(line, &match)) // names the kernel
      return match[0].str();
  }
  return "";
}

/// Kernels by several threads at once, as many on every machine, which the order of symbols depends
/// on; the machine code of each is the same without. An older ptxas does not know how.
static constexpr llvm::StringLiteral inThreads = "--split-compile=8";

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
mlir::transformer::assemblePtx(llvm::StringRef ptxas, llvm::StringRef ptx, llvm::StringRef arch) {
  auto source = TemporaryFile::create("transformer-compile", "ptx");
  auto cubin = TemporaryFile::create("transformer-compile", "cubin");
  auto log = TemporaryFile::create("transformer-compile", "log");
  if (!source || !cubin || !log)
    return llvm::joinErrors(llvm::joinErrors(source.takeError(), cubin.takeError()),
                            log.takeError());
  std::error_code error;
  llvm::raw_fd_ostream(source->path(), error) << ptx;
  if (error)
    return createStringError("cannot write " + source->path() + ": " + error.message());
  std::string archOption = ("-arch=" + arch).str();
  llvm::SmallVector<llvm::StringRef> words = {ptxas, "-v",          archOption, source->path(),
                                              "-o",  cubin->path(), inThreads};
  std::optional<llvm::StringRef> redirects[] = {std::nullopt, log->path(), log->path()};
  std::string message, said;
  auto assemble = [&] {
    message.clear();
    int code = llvm::sys::ExecuteAndWait(ptxas, words, std::nullopt, redirects, 0, 0, &message);
    auto text = llvm::MemoryBuffer::getFile(log->path());
    said = text ? (*text)->getBuffer().str() : "";
    return code == 0;
  };
  bool assembled = assemble();
  if (!assembled && llvm::StringRef(said).contains("Unknown option")) {
    words.pop_back();
    assembled = assemble();
  }
  if (!assembled)
    return createStringError("ptxas failed: " + (message.empty() ? said.substr(0, 400) : message));
  if (std::string problem = problemsOf(said); !problem.empty())
    return createStringError("ptxas: " + problem);
  auto result = llvm::MemoryBuffer::getFile(cubin->path(), false, false);
  if (!result)
    return createStringError("cannot read " + cubin->path() + ": " + result.getError().message());
  return std::move(*result);
}
