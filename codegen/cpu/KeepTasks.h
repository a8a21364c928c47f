//===- KeepTasks.h - tasks that are alone stay tasks ------------*- C++ -*-===//
#ifndef CODEGEN_CPU_KEEPTASKS_H
#define CODEGEN_CPU_KEEPTASKS_H

#include <array>
#include <string>

namespace mlir::transformer {

/// Names of upstream's pattern that folds a scf.forall of one iteration, as Clang and GCC spell
/// them. It is not applied: the body of such a loop becomes a function that all layers of these
/// sizes share (transformer-cpu-merge-tasks); in the functions around it each would have a copy.
inline std::array<std::string, 2> foldsOfTasks() {
  return {"(anonymous namespace)::ForallOpSingleOrZeroIterationDimsFolder",
          "{anonymous}::ForallOpSingleOrZeroIterationDimsFolder"};
}

} // namespace mlir::transformer

#endif // CODEGEN_CPU_KEEPTASKS_H
