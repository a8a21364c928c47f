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
#include <vector>

namespace mlir::transformer {

/// LLVM IR of a module in the LLVM dialect, not optimised but for arguments that nobody reads.
/// Error: a target that this LLVM lacks, a translation that fails.
llvm::Expected<std::unique_ptr<llvm::Module>> toLlvmIr(ModuleOp module, cpu::TargetAttr target,
                                                       llvm::LLVMContext &context);

/// What loops that are in order already need of LLVM's -O3.
llvm::Error optimize(llvm::Module &ir, cpu::TargetAttr target);

/// Writes assembly or an object file of optimised LLVM IR.
llvm::Error emitCode(llvm::Module &module, cpu::TargetAttr target, llvm::CodeGenFileType type,
                     llvm::raw_pwrite_stream &out);

using MachineCode = llvm::SmallVector<char, 0>;

/// Optimises LLVM IR in parts, several at a time, and makes an object of each. `ir` is of no use
/// behind it.
llvm::Expected<std::vector<MachineCode>> emitObjects(llvm::Module &ir, cpu::TargetAttr target);

} // namespace mlir::transformer

#endif // CODEGEN_DRIVER_EMITOBJECT_H
