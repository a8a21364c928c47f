//===- TaskShape.h - what a task of a linear layer computes -----*- C++ -*-===//
#ifndef CODEGEN_CPU_LINEAR_TASKSHAPE_H
#define CODEGEN_CPU_LINEAR_TASKSHAPE_H

#include "codegen/cpu/linear/LinearFormat.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::transformer {

/// So many rows by so many panels; a size of 0 is all of them.
struct TaskShape {
  OpFoldResult rows, panels;
  /// What makes the panels, if the task does it by itself, how many of them at most, and how many
  /// rows go through all of these before the next ones do.
  Operation *pack = nullptr;
  int64_t mostPanels = 0;
  OpFoldResult rowsOfBlock;
  /// Whether what is packed is better fetched then than beside the products before.
  bool packsAhead = false;
};

/// Of the tasks that compute `epilogue` and the `contraction` it reads, with `rows` rows in all.
TaskShape taskShapeOf(OpBuilder &builder, linalg::GenericOp contraction, linalg::GenericOp epilogue,
                      Value rows, cpu::TargetAttr target);

/// How many of k a task goes through before it turns to its next rows, a multiple of the products
/// of a step.
int64_t blockOfK(linalg::GenericOp contraction, cpu::TargetAttr target);

/// Whether a task of `rows` is computed by the few rows' tile, if its format has one.
Value areFew(ImplicitLocOpBuilder &b, Value rows);
FewRowsTile fewRowsTileOf(linalg::GenericOp contraction, cpu::TargetAttr target);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_LINEAR_TASKSHAPE_H
