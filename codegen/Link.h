//===- Link.h - objects to programs and modules ---------------------------===//
#ifndef CODEGEN_LINK_H
#define CODEGEN_LINK_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace mlir::transformer {

/// Links a generated object with the runtime to an executable, or alone to a
/// module (`shared`) that transformer-run loads. Writes `output` only when the
/// link succeeds. `runtimeDirectory` holds libtransformer_runtime*.a. Error: the
/// linker's message.
llvm::Error linkProgram(llvm::StringRef object, llvm::StringRef output, bool shared,
                        llvm::StringRef runtimeDirectory);

} // namespace mlir::transformer

#endif // CODEGEN_LINK_H
