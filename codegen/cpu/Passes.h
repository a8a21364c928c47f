//===- Passes.h - linalg and kernels to a CPU's code ----------------------===//
#ifndef CODEGEN_CPU_PASSES_H
#define CODEGEN_CPU_PASSES_H

#include "codegen/cpu/dialect/CpuDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::transformer {

#define GEN_PASS_DECL
#include "codegen/cpu/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "codegen/cpu/Passes.h.inc"

} // namespace mlir::transformer

#endif // CODEGEN_CPU_PASSES_H
