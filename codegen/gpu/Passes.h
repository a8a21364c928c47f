//===- Passes.h - linalg and kernels to NVIDIA GPUs -----------------------===//
#ifndef CODEGEN_GPU_PASSES_H
#define CODEGEN_GPU_PASSES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::transformer {

/// The name of the module's attribute that says what code is for.
inline constexpr llvm::StringLiteral kGpuTargetAttr = "transformer.target";

#define GEN_PASS_DECL
#include "codegen/gpu/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "codegen/gpu/Passes.h.inc"

} // namespace mlir::transformer

#endif // CODEGEN_GPU_PASSES_H
