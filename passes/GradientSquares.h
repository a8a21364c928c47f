//===- GradientSquares.h - norms of gradients where these are made --------===//
#ifndef PASSES_GRADIENTSQUARES_H
#define PASSES_GRADIENTSQUARES_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::transformer {

/// Of each of `gradients` the sum of its squares where a function that is called makes it by
/// products over tokens, else null: the function gets one more result, which the product's own
/// tasks can sum. With `tables` also of such gradients to which embeddings add theirs. What makes
/// a gradient is made anew, and `gradients` are then the new ops' results.
SmallVector<Value> sumSquaresInCallees(ModuleOp module, MutableArrayRef<Value> gradients,
                                       bool tables);

} // namespace mlir::transformer

#endif // PASSES_GRADIENTSQUARES_H
