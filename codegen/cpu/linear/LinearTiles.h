//===- LinearTiles.h - what the passes that tile linear layers share ------===//
#ifndef CODEGEN_CPU_LINEAR_LINEARTILES_H
#define CODEGEN_CPU_LINEAR_LINEARTILES_H

#include "codegen/cpu/linear/LinearFormat.h"
#include "codegen/cpu/linear/LinearMarks.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::transformer {

/// The ops under `root` that carry the attribute `name`.
SmallVector<linalg::GenericOp> marked(Operation *root, StringRef name);

/// The format that a contraction is marked with.
const LinearFormat &formatOf(linalg::GenericOp contraction);
/// Steps of its sums: of x `[m, steps]`, or `[m, steps, products]`.
int64_t stepsOf(linalg::GenericOp contraction);
/// The inputs of a contraction: as many times x as a step has products, then as
/// often the panels.
Value rowsOf(linalg::GenericOp contraction);
Value panelsOf(linalg::GenericOp contraction);

/// Canonicalises loops, slices, arithmetic and vectors, no other dialect.
LogicalResult canonicalizeTiles(ModuleOp module);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_LINEAR_LINEARTILES_H
