//===- LlvmCode.h - LLVM IR to a target's code ------------------*- C++ -*-===//
#ifndef CODEGEN_MODULE_LLVMCODE_H
#define CODEGEN_MODULE_LLVMCODE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include <memory>

namespace mlir::transformer {

/// LLVM's machine of a target. Error: this LLVM lacks it.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
makeMachine(llvm::StringRef triple, llvm::StringRef cpu, llvm::StringRef features,
            llvm::CodeGenOptLevel level = llvm::CodeGenOptLevel::Default);

/// Says what the IR is for.
void setMachine(llvm::Module &ir, const llvm::TargetMachine &machine);

/// Runs passes, named as LLVM's opt names them.
llvm::Error runPasses(llvm::Module &ir, llvm::TargetMachine &machine, llvm::StringRef passes);

/// Writes assembly or an object file of optimised LLVM IR.
llvm::Error emitCode(llvm::Module &ir, llvm::TargetMachine &machine, llvm::CodeGenFileType type,
                     llvm::raw_pwrite_stream &out);

} // namespace mlir::transformer

#endif // CODEGEN_MODULE_LLVMCODE_H
