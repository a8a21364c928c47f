//===- Target.h - where a module says what its code is for ----------------===//
#ifndef CODEGEN_TARGET_H
#define CODEGEN_TARGET_H

#include "llvm/ADT/StringRef.h"

namespace mlir::transformer {

/// The module's attribute: a `#transformer_cpu.target`, or upstream's `#nvvm.target`.
inline constexpr llvm::StringLiteral kTargetAttr = "transformer.target";

/// Of a module for a GPU: the `#transformer_cpu.target` of the functions that launch its kernels.
inline constexpr llvm::StringLiteral kHostTargetAttr = "transformer.host_target";

} // namespace mlir::transformer

#endif // CODEGEN_TARGET_H
