//===- NarrowCaches.h - keys and values as bfloat16 -------------*- C++ -*-===//
#ifndef CODEGEN_GPU_NARROWCACHES_H
#define CODEGEN_GPU_NARROWCACHES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::transformer {

/// The rows of which `rows` may be some columns.
Value sourceOfRows(Value rows);
/// The bf16 or f16 that rows that are `quantize_rows`, or some columns of it, are rounded to; null:
/// neither.
FloatType roundingOf(Value rows);

/// Makes all caches bf16, or f16, where all that is appended to any has been rounded to it: nothing
/// else reads or writes them, so no number changes.
void narrowCaches(ModuleOp module);

} // namespace mlir::transformer

#endif // CODEGEN_GPU_NARROWCACHES_H
