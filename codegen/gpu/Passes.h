//===- Passes.h - linalg and kernels to NVIDIA GPUs -----------------------===//
#ifndef CODEGEN_GPU_PASSES_H
#define CODEGEN_GPU_PASSES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::transformer {

#define GEN_PASS_DECL
#include "codegen/gpu/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "codegen/gpu/Passes.h.inc"

} // namespace mlir::transformer

#endif // CODEGEN_GPU_PASSES_H
