//===- EmitPtx.cpp - GPU modules as PTX and machine code ------------------===//
#include "codegen/gpu/EmitPtx.h"
#include "codegen/module/LlvmCode.h"
#include "dialect/OutputFile.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace mlir::transformer;
using llvm::createStringError;

/// As many parts of a module's kernels are compiled at once, on every machine, so that it makes the
/// same PTX.
static constexpr size_t kParts = 8;

/// A module's kernels in their order, in modules of about one size, each with all that is no
/// kernel.
static std::vector<OwningOpRef<gpu::GPUModuleOp>> partsOf(gpu::GPUModuleOp module) {
  SmallVector<Operation *> kernels, others;
  SmallVector<size_t> before; // ops of earlier kernels
  size_t total = 0;
  for (Operation &op : *module.getBody()) {
    if (!op.hasAttr(gpu::GPUDialect::getKernelFuncAttrName())) {
      others.push_back(&op);
      continue;
    }
    kernels.push_back(&op);
    before.push_back(total);
    op.walk([&](Operation *) { ++total; });
  }
  std::vector<OwningOpRef<gpu::GPUModuleOp>> parts;
  size_t number = kParts;
  for (auto [kernel, ops] : llvm::zip_equal(kernels, before)) {
    if (size_t of = ops * kParts / total; of != number) {
      number = of;
      parts.push_back(cast<gpu::GPUModuleOp>(module->cloneWithoutRegions()));
      Block &body = parts.back()->getBodyRegion().emplaceBlock();
      for (Operation *op : others)
        body.push_back(op->clone());
    }
    parts.back()->getBody()->push_back(kernel->clone());
  }
  return parts;
}

/// One text of several modules': at its head what is at the head of each, a global that several
/// have once, then the kernels.
static std::string joinPtx(ArrayRef<std::string> parts) {
  constexpr llvm::StringLiteral directives[] = {".version", ".target", ".address_size", ".shared",
                                                ".global"};
  llvm::StringSet<> said;
  std::string head, kernels;
  for (llvm::StringRef part : parts) {
    size_t version = std::min(part.find(directives[0]), part.size());
    if (head.empty()) // the compiler's name
      head = part.take_front(version);
    for (llvm::StringRef line : llvm::split(part.drop_front(version), '\n'))
      if (llvm::none_of(directives, [&](StringRef word) { return line.starts_with(word); }))
        (kernels += line) += '\n';
      else if (said.insert(line).second)
        (head += line) += '\n';
  }
  return head + kernels;
}

/// What kernels need of LLVM's -O3: of these ptxas makes the same loops of products, and they
/// take about half the time. Loops are unrolled here, which ptxas does otherwise.
static constexpr llvm::StringLiteral passes =
    "cgscc(inline),"
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,reassociate,"
    "loop-mssa(loop-rotate,licm),loop(indvars,loop-unroll-full),gvn,"
    "instcombine<no-verify-fixpoint>,simplifycfg,loop-unroll<O3>,instcombine<no-verify-fixpoint>,"
    "early-cse,loop-mssa(licm),infer-alignment)";

static llvm::Expected<std::string> ptxOf(gpu::GPUModuleOp kernels, NVVM::NVVMTargetAttr target) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> ir = translateModuleToLLVMIR(kernels, context);
  if (!ir)
    return createStringError("translation to LLVM IR failed");
  auto machine = makeMachine(target.getTriple(), target.getChip(), target.getFeatures(),
                             static_cast<llvm::CodeGenOptLevel>(target.getO()));
  if (!machine)
    return machine.takeError();
  setMachine(*ir, **machine);
  if (llvm::Error error = runPasses(*ir, **machine, passes))
    return error;
  llvm::SmallString<0> ptx;
  llvm::raw_svector_ostream stream(ptx);
  if (llvm::Error error = emitCode(*ir, **machine, llvm::CodeGenFileType::AssemblyFile, stream))
    return error;
  return ptx.str().str();
}

llvm::Expected<std::string> mlir::transformer::emitPtx(ModuleOp module) {
  auto modules = module.getOps<gpu::GPUModuleOp>();
  if (modules.empty())
    return createStringError("there is no kernel");
  gpu::GPUModuleOp kernels = *modules.begin();
  auto target = cast<NVVM::NVVMTargetAttr>((*kernels.getTargets())[0]);
  std::vector<OwningOpRef<gpu::GPUModuleOp>> parts = partsOf(kernels);
  std::vector<std::string> texts(parts.size()), errors(parts.size());
  LogicalResult made =
      failableParallelForEachN(module.getContext(), 0, parts.size(), [&](size_t i) {
        llvm::Expected<std::string> text = ptxOf(*parts[i], target);
        if (text)
          texts[i] = std::move(*text);
        else
          errors[i] = llvm::toString(text.takeError());
        return success(errors[i].empty());
      });
  if (failed(made))
    return createStringError("PTX of kernels cannot be made: " + llvm::join(errors, " "));
  std::string ptx = joinPtx(texts);
  if (ptx.empty())
    return createStringError("there is no kernel");
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
