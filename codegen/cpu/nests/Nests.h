//===- Nests.h - loop nests of the kernels on a CPU -----------------------===//
#ifndef CODEGEN_CPU_NESTS_NESTS_H
#define CODEGEN_CPU_NESTS_NESTS_H

#include "codegen/Target.h"
#include "mlir/IR/Operation.h"
#include "mlir/Pass/Pass.h"

namespace mlir::transformer {

/// Replaces every bufferised `transformer_kernel` op under `root` by scf, arith,
/// math, vector and memref ops. Parallel loops become `scf.forall` on memrefs
/// that begin with a `transformer_kernel.work`. Error, at the op: one that is still
/// on tensors, or whose buffers are not contiguous in the last dimension.
LogicalResult emitKernelNests(Operation *root, const CpuTarget &target);

/// The pass `transformer-cpu-emit-nests` for `arch`, as cpuTarget() knows it.
std::unique_ptr<Pass> createEmitNestsPass(llvm::StringRef arch);
void registerEmitNestsPass();

} // namespace mlir::transformer

#endif // CODEGEN_CPU_NESTS_NESTS_H
