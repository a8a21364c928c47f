//===- LinearTiles.h - what the passes that tile linear layers share ------===//
#ifndef CODEGEN_CPU_LINEARTILES_H
#define CODEGEN_CPU_LINEARTILES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::transformer {

/// The ops under `root` that carry the unit attribute `name`.
SmallVector<linalg::GenericOp> marked(Operation *root, StringRef name);

/// Steps of the sums of a contraction of x `[m, k]`, or `[m, k, products]`, and
/// how many products a step sums.
int64_t stepsOf(linalg::GenericOp contraction);
int64_t productsOfStep(linalg::GenericOp contraction);
/// The inputs of a contraction: as many times x as a step has products, then as
/// often the panels.
Value rowsOf(linalg::GenericOp contraction);
Value panelsOf(linalg::GenericOp contraction);

/// Canonicalises loops, slices, arithmetic and vectors, no other dialect.
LogicalResult canonicalizeTiles(ModuleOp module);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_LINEARTILES_H
