//===- EmitObject.h - the LLVM dialect to LLVM IR, assembly and objects ---===//
#ifndef CODEGEN_DRIVER_EMITOBJECT_H
#define CODEGEN_DRIVER_EMITOBJECT_H

#include "codegen/cpu/dialect/CpuDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include <memory>

namespace mlir::transformer {

/// Optimised LLVM IR of a module in the LLVM dialect. Error: a target that this
/// LLVM lacks, a translation that fails.
llvm::Expected<std::unique_ptr<llvm::Module>> toLlvmIr(ModuleOp module, cpu::TargetAttr target,
                                                       llvm::LLVMContext &context);

/// Writes assembly or an object file of optimised LLVM IR.
llvm::Error emitCode(llvm::Module &module, cpu::TargetAttr target, llvm::CodeGenFileType type,
                     llvm::raw_pwrite_stream &out);

} // namespace mlir::transformer

#endif // CODEGEN_DRIVER_EMITOBJECT_H
