//===- Nests.h - loop nests of the kernels on a CPU -----------------------===//
#ifndef CODEGEN_CPU_NESTS_NESTS_H
#define CODEGEN_CPU_NESTS_NESTS_H

#include "codegen/cpu/dialect/CpuDialect.h"

namespace mlir::transformer {

/// Replaces every bufferised `transformer_kernel` op under `root` by scf, arith,
/// math, vector and memref ops. Parallel loops become `scf.forall` on memrefs
/// that begin with a `transformer_kernel.work`. Error, at the op: one that is still
/// on tensors, or whose buffers are not contiguous in the last dimension.
LogicalResult emitKernelNests(Operation *root, cpu::TargetAttr target);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_NESTS_NESTS_H
