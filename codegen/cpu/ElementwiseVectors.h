//===- ElementwiseVectors.h - elementwise ops on vectors ------------------===//
#ifndef CODEGEN_CPU_ELEMENTWISEVECTORS_H
#define CODEGEN_CPU_ELEMENTWISEVECTORS_H

#include "codegen/cpu/nests/Emit.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::transformer {

/// Emits `op`, on buffers of f32, as loops over its rows that take a vector of columns at a time.
/// Returns false, emitting nothing, for what is not elementwise, has no static width or columns
/// that lie apart.
bool emitVectors(Emit &b, linalg::LinalgOp op);

/// Whether `emitVectors` would do so.
bool canEmitVectors(linalg::LinalgOp op);

/// Emits one vector of such an op, which has rows and goes through memory, from `column` on.
void emitVector(Emit &b, linalg::LinalgOp op, Value row, Value column);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_ELEMENTWISEVECTORS_H
