//===- Passes.h - from the transformer dialect to a native program --------===//
#ifndef CODEGEN_PASSES_H
#define CODEGEN_PASSES_H

#include "codegen/Target.h"
#include "codegen/kernels/KernelDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::transformer {

/// Most products that one accumulator sums (`SumInBlocks`). What blocks k is a
/// multiple of it.
inline constexpr int64_t kSumSteps = 256;

#define GEN_PASS_DECL
#include "codegen/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "codegen/Passes.h.inc"

} // namespace mlir::transformer

#endif // CODEGEN_PASSES_H
