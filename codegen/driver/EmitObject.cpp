//===- EmitObject.cpp - the LLVM dialect to LLVM IR and objects -----------===//
#include "codegen/driver/EmitObject.h"
#include "codegen/module/LlvmCode.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Transforms/Utils/SplitModule.h"
#include <mutex>

using namespace mlir;
using namespace mlir::transformer;

/// Keeps instructions in our order until registers are allocated: LLVM's scheduler gathers what
/// Winograd's tiles of two vectors broadcast, and spills (36 accesses to the stack a step, 2
/// without it). It holds for the whole process; nothing but an option of LLVM sets it.
static void keepOrder() {
  llvm::cl::Option *option = llvm::cl::getRegisteredOptions().lookup("enable-misched");
  if (option && option->getNumOccurrences() == 0)
    option->addOccurrence(0, "enable-misched", "false");
}

/// What the calling conventions of x86-64 and AArch64 promise.
static constexpr uint64_t kStackAlignment = 16;

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>> machineOf(cpu::TargetAttr target) {
  static std::once_flag once;
  if (target.getWinogradVectors() > 1)
    std::call_once(once, keepOrder);
  return makeMachine(target.getTriple(), target.getCpu(), target.getFeatures());
}

llvm::Expected<std::unique_ptr<llvm::Module>>
mlir::transformer::toLlvmIr(ModuleOp module, cpu::TargetAttr target, llvm::LLVMContext &context) {
  auto machine = machineOf(target);
  if (!machine)
    return machine.takeError();
  std::unique_ptr<llvm::Module> ir = translateModuleToLLVMIR(module, context);
  if (!ir)
    return llvm::createStringError("translation to LLVM IR failed");
  setMachine(*ir, **machine);
  std::string width = std::to_string(target.getVectorLanes() * 32);
  for (llvm::Function &function : *ir) {
    if (function.isDeclaration())
      continue;
    if (function.hasLocalLinkage()) // whatever a model calls its layers, memcpy is the C library's
      function.setName("model." + function.getName());
    if (!function.hasOneUse()) // shared code is written once: LLVM takes long for a long function
      function.addFnAttr(llvm::Attribute::NoInline);
    function.addFnAttr("target-cpu", target.getCpu());
    function.addFnAttr("target-features", target.getFeatures());
    function.addFnAttr("prefer-vector-width", width);
    // Once registers are allocated it is too late to align the stack for a vector that does not
    // fit: where such a one crosses cache lines, reading it back waits for the store.
    if (target.getVectorLanes() * sizeof(float) > kStackAlignment)
      function.addFnAttr("stackrealign");
  }
  // A buffer is passed as seven numbers or more, of which a function that knows its sizes reads
  // one.
  if (llvm::Error error = runPasses(*ir, **machine, "deadargelim"))
    return error;
  return ir;
}

/// What code made of loops that are in order already needs. LLVM's -O3 takes more than twice as
/// long, since it looks for what only C++ has. It leaves out what comes last here: constants of
/// unrolled steps go into the loads' displacements, not through the ports of multiply-adds.
static constexpr StringLiteral passes =
    "cgscc(inline),"
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,reassociate,"
    "loop-mssa(loop-rotate,licm),loop(indvars),gvn,instcombine<no-verify-fixpoint>,simplifycfg,"
    "separate-const-offset-from-gep,early-cse,loop-mssa(licm),infer-alignment)";

llvm::Error mlir::transformer::optimize(llvm::Module &ir, cpu::TargetAttr target) {
  auto machine = machineOf(target);
  return machine ? runPasses(ir, **machine, passes) : machine.takeError();
}

llvm::Error mlir::transformer::emitCode(llvm::Module &module, cpu::TargetAttr target,
                                        llvm::CodeGenFileType type, llvm::raw_pwrite_stream &out) {
  auto machine = machineOf(target);
  return machine ? emitCode(module, **machine, type, out) : machine.takeError();
}

/// One part, in a context of its own.
static llvm::Error emitPart(StringRef bitcode, cpu::TargetAttr target, MachineCode &code) {
  llvm::LLVMContext context;
  auto part = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "part"), context);
  if (!part)
    return part.takeError();
  if (llvm::Error error = optimize(**part, target))
    return error;
  llvm::raw_svector_ostream stream(code);
  return emitCode(**part, target, llvm::CodeGenFileType::ObjectFile, stream);
}

llvm::Expected<std::vector<MachineCode>> mlir::transformer::emitObjects(llvm::Module &ir,
                                                                        cpu::TargetAttr target) {
  constexpr unsigned parts = 8; // on every machine, so that it makes the same program
  std::vector<llvm::SmallString<0>> bitcode;
  llvm::SplitModule(
      ir, parts,
      [&](std::unique_ptr<llvm::Module> part) {
        llvm::raw_svector_ostream stream(bitcode.emplace_back());
        llvm::WriteBitcodeToFile(*part, stream);
      },
      /*PreserveLocals=*/false, /*RoundRobin=*/true);
  std::vector<MachineCode> objects(bitcode.size());
  std::vector<std::string> errors(bitcode.size());
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency());
  auto order = llvm::to_vector(llvm::seq(bitcode.size())); // the largest first: they take longest
  llvm::sort(order, [&](size_t a, size_t b) { return bitcode[a].size() > bitcode[b].size(); });
  for (size_t i : order)
    pool.async([&, i] { errors[i] = llvm::toString(emitPart(bitcode[i], target, objects[i])); });
  pool.wait();
  for (const std::string &error : errors)
    if (!error.empty())
      return llvm::createStringError(error);
  return objects;
}
