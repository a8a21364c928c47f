//===- GradientSquares.h - norms of gradients where these are made --------===//
#ifndef PASSES_GRADIENTSQUARES_H
#define PASSES_GRADIENTSQUARES_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::transformer {

/// Of each of `gradients` the sum of its squares where a layer's function makes it by a product
/// over tokens, else null: the function gets one more result, which the product's own tasks can
/// sum. Calls are made anew, and `gradients` are then the new ones' results.
SmallVector<Value> sumSquaresInCallees(ModuleOp module, MutableArrayRef<Value> gradients);

} // namespace mlir::transformer

#endif // PASSES_GRADIENTSQUARES_H
