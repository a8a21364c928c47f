//===- LlvmCode.cpp - LLVM IR to a target's code ---------------------------===//
#include "codegen/module/LlvmCode.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Triple.h"
#include <mutex>

using namespace mlir;
using llvm::StringRef;

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
transformer::makeMachine(StringRef triple, StringRef cpu, StringRef features,
                         llvm::CodeGenOptLevel level) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
  });
  std::string error;
  llvm::Triple parsed(triple);
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(parsed, error);
  if (!found)
    return llvm::createStringError("target " + triple + ": " + error);
  // Our code says where a multiply and an add are one operation (fmuladd); LLVM
  // must not fuse others, or a row's bits would depend on the loop around it.
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(
      parsed, cpu, features, options, llvm::Reloc::PIC_, std::nullopt, level));
}

void transformer::setMachine(llvm::Module &ir, const llvm::TargetMachine &machine) {
  ir.setDataLayout(machine.createDataLayout());
  ir.setTargetTriple(machine.getTargetTriple());
}

llvm::Error transformer::runPasses(llvm::Module &ir, llvm::TargetMachine &machine,
                                   StringRef passes) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager manager;
  if (llvm::Error error = builder.parsePassPipeline(manager, passes))
    return error;
  manager.run(ir, modules);
  return llvm::Error::success();
}

llvm::Error transformer::emitCode(llvm::Module &ir, llvm::TargetMachine &machine,
                                  llvm::CodeGenFileType type, llvm::raw_pwrite_stream &out) {
  llvm::legacy::PassManager manager;
  if (machine.addPassesToEmitFile(manager, out, nullptr, type))
    return llvm::createStringError("target " + machine.getTargetTriple().str() +
                                   " cannot emit this kind of file");
  manager.run(ir);
  return llvm::Error::success();
}
