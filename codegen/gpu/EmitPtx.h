//===- EmitPtx.h - GPU modules as PTX and machine code --------------------===//
#ifndef CODEGEN_GPU_EMITPTX_H
#define CODEGEN_GPU_EMITPTX_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>

namespace mlir::transformer {

/// The PTX of the one `gpu.binary` of a module. Error: there is none, or it calls a function of a
/// device library.
llvm::Expected<std::string> ptxOf(ModuleOp module);

/// What ptxas makes of `ptx`. It is looked for in PATH, then below CUDA_HOME, CUDA_PATH,
/// CUDA_ROOT and /usr/local/cuda. Error: it is not found; what it says, with the kernel's name; a
/// kernel whose registers spill.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> assemblePtx(llvm::StringRef ptx,
                                                                llvm::StringRef arch);

} // namespace mlir::transformer

#endif // CODEGEN_GPU_EMITPTX_H
