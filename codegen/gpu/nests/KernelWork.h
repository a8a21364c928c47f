//===- KernelWork.h - what an op's kernels do, for profiles ----*- C++ -*-===//
#ifndef CODEGEN_GPU_NESTS_KERNELWORK_H
#define CODEGEN_GPU_NESTS_KERNELWORK_H

#include "codegen/gpu/nests/Loops.h"
#include "codegen/kernels/Work.h"

namespace mlir::transformer::simt {

/// What `op` does, named as on a CPU, and its amounts, which the host knows without reading the
/// device's memory: sizes of buffers. A product has operations; all have the bytes of what has a
/// row, column or sum for each of an amount (a table that is looked up has not).
std::pair<Work, Values> workOf(Loops &b, Operation *op);

/// What a loop does that has been made of a linalg op: numbers computed one by one.
std::pair<Work, Values> elementwiseWork(Loops &b, scf::ParallelOp loop);

} // namespace mlir::transformer::simt

#endif // CODEGEN_GPU_NESTS_KERNELWORK_H
