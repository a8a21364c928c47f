//===- LinearTiles.h - what the passes that tile linear layers share ------===//
#ifndef CODEGEN_CPU_LINEARTILES_H
#define CODEGEN_CPU_LINEARTILES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::transformer {

/// The ops under `root` that carry the unit attribute `name`.
SmallVector<linalg::GenericOp> marked(Operation *root, StringRef name);

/// The length K of the sums of a contraction of x `[m, k]`.
int64_t lengthOfSums(linalg::GenericOp contraction);

/// Canonicalises loops, slices, arithmetic and vectors, no other dialect.
LogicalResult canonicalizeTiles(ModuleOp module);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_LINEARTILES_H
