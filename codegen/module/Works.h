//===- Works.h - what the runtime is told of loops, for profiles ----------===//
#ifndef CODEGEN_MODULE_WORKS_H
#define CODEGEN_MODULE_WORKS_H

#include "codegen/kernels/KernelDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::transformer {

/// The last two arguments of tr_parallel_for and of tr_launch.
struct WorkPointers {
  Value description, amounts;
};

/// A constant tr_work and memory of `function` with the amounts, where the builder is; null
/// pointers for a null `op`. `number` makes the constant's name unique.
WorkPointers lowerWork(ImplicitLocOpBuilder &b, func::FuncOp function, kernel::WorkOp op,
                       unsigned number);

} // namespace mlir::transformer

#endif // CODEGEN_MODULE_WORKS_H
