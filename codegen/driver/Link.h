//===- Link.h - objects to programs and modules ---------------------------===//
#ifndef CODEGEN_DRIVER_LINK_H
#define CODEGEN_DRIVER_LINK_H

#include "codegen/cpu/dialect/CpuDialect.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace mlir::transformer {

/// Links generated objects with the runtime to an executable, or alone to a
/// module (`shared`) that transformer-run loads; returns its bytes. Messages call
/// it `name`. `runtimeDirectory` holds libtransformer_runtime*.a and
/// libutf8proc.a for this machine; those for a target of another architecture
/// are in a folder of its name there ("aarch64"). Error: a library or a linker
/// that is missing, the linker's reason.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> linkProgram(llvm::ArrayRef<std::string> objects,
                                                                llvm::StringRef name,
                                                                cpu::TargetAttr target, bool shared,
                                                                llvm::StringRef runtimeDirectory);

} // namespace mlir::transformer

#endif // CODEGEN_DRIVER_LINK_H
