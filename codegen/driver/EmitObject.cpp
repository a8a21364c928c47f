//===- EmitObject.cpp - the LLVM dialect to LLVM IR and objects -----------===//
#include "codegen/driver/EmitObject.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Triple.h"
#include <mutex>

using namespace mlir;
using namespace mlir::transformer;

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>> targetMachine(cpu::TargetAttr target) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
  });
  std::string error;
  llvm::Triple triple(target.getTriple());
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return llvm::createStringError("target " + target.getTriple() + ": " + error);
  // Our code says where a multiply and an add are one operation (fmuladd); LLVM
  // must not fuse others, or a row's bits would depend on the loop around it.
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(
      triple, target.getCpu(), target.getFeatures(), options, llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
}

llvm::Expected<std::unique_ptr<llvm::Module>>
mlir::transformer::toLlvmIr(ModuleOp module, cpu::TargetAttr target, llvm::LLVMContext &context) {
  auto machine = targetMachine(target);
  if (!machine)
    return machine.takeError();
  std::unique_ptr<llvm::Module> ir = translateModuleToLLVMIR(module, context);
  if (!ir)
    return llvm::createStringError("translation to LLVM IR failed");
  ir->setDataLayout((*machine)->createDataLayout());
  ir->setTargetTriple((*machine)->getTargetTriple());
  std::string width = std::to_string(target.getVectorLanes() * 32);
  for (llvm::Function &function : *ir) {
    if (function.isDeclaration())
      continue;
    if (function.hasLocalLinkage()) // whatever a model calls its layers, memcpy is the C library's
      function.setName("model." + function.getName());
    function.addFnAttr("target-cpu", target.getCpu());
    function.addFnAttr("target-features", target.getFeatures());
    function.addFnAttr("prefer-vector-width", width);
  }
  llvm::PipelineTuningOptions tuning;
  tuning.SLPVectorization = false;
  tuning.LoopUnrolling = false;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine->get(), tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(*ir, modules);
  return ir;
}

llvm::Error mlir::transformer::emitCode(llvm::Module &module, cpu::TargetAttr target,
                                        llvm::CodeGenFileType type, llvm::raw_pwrite_stream &out) {
  auto machine = targetMachine(target);
  if (!machine)
    return machine.takeError();
  llvm::legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, out, nullptr, type))
    return llvm::createStringError("target " + target.getTriple() +
                                   " cannot emit this kind of file");
  passes.run(module);
  return llvm::Error::success();
}
