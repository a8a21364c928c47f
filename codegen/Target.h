//===- Target.h - where a module says what its code is for ----------------===//
#ifndef CODEGEN_TARGET_H
#define CODEGEN_TARGET_H

#include "llvm/ADT/StringRef.h"

namespace mlir::transformer {

/// The module's attribute: a `#transformer_cpu.target`, or upstream's `#nvvm.target`.
inline constexpr llvm::StringLiteral kTargetAttr = "transformer.target";

} // namespace mlir::transformer

#endif // CODEGEN_TARGET_H
