//===- EmitPtx.h - GPU modules as PTX and machine code --------------------===//
#ifndef CODEGEN_GPU_EMITPTX_H
#define CODEGEN_GPU_EMITPTX_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <optional>
#include <string>

namespace mlir::transformer {

/// PTX of the kernels of a module's one GPU module, in NVVM: parts of it are compiled on several
/// threads. Error: there is none, or it calls a function of a device library.
llvm::Expected<std::string> emitPtx(ModuleOp module);

/// ptxas, looked for in PATH, then below CUDA_HOME, CUDA_PATH, CUDA_ROOT; where none of these is
/// set, in /usr/local/cuda. Nothing where it is not found.
std::optional<std::string> findPtxas();

/// What `ptxas` makes of `ptx`. Error: what it says, with the kernel's name; a kernel whose
/// registers spill, or whose asynchronous products it makes wait for each other.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
assemblePtx(llvm::StringRef ptxas, llvm::StringRef ptx, llvm::StringRef arch);

/// Puts the kernels' code into the module, as globals, in place of its GPU modules. An empty
/// `cubin`: there is PTX alone.
void embedKernels(ModuleOp module, llvm::StringRef ptx, llvm::StringRef cubin);
/// The globals' names.
inline constexpr llvm::StringLiteral kPtxSymbol = "transformer.ptx";
inline constexpr llvm::StringLiteral kCubinSymbol = "transformer.cubin";

} // namespace mlir::transformer

#endif // CODEGEN_GPU_EMITPTX_H
