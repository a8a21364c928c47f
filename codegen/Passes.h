//===- Passes.h - from the transformer dialect to a native program --------===//
#ifndef CODEGEN_PASSES_H
#define CODEGEN_PASSES_H

#include "codegen/kernels/KernelDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::transformer {

#define GEN_PASS_DECL
#include "codegen/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "codegen/Passes.h.inc"

} // namespace mlir::transformer

#endif // CODEGEN_PASSES_H
