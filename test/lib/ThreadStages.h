//===- ThreadStages.h - a GPU's kernels on this CPU -------------*- C++ -*-===//
#ifndef TEST_LIB_THREADSTAGES_H
#define TEST_LIB_THREADSTAGES_H

#include "codegen/driver/Stages.h"

namespace mlir::transformer {

/// The GPU's stages up to the threads of its kernels, which then run here one after the other, the
/// last one first; what they are made into is the CPU's.
const TargetKind &threadsOnCpu();

} // namespace mlir::transformer

#endif // TEST_LIB_THREADSTAGES_H
