//===- KernelVerify.h - what the operands of a kernel must be -------------===//
#ifndef CODEGEN_KERNELS_KERNELVERIFY_H
#define CODEGEN_KERNELS_KERNELVERIFY_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/Twine.h"

namespace mlir::transformer::kernel {

inline constexpr int64_t kAny = ShapedType::kDynamic;

Type f32(Operation *op);
Type i64(Operation *op);
Type index(Operation *op);

/// The buffer `what` has this rank, element type and, where both are known,
/// these sizes.
LogicalResult verifyBuffer(Operation *op, const Twine &what, Value value, Type element,
                           ArrayRef<int64_t> shape);

/// Rows `[T, W]` of a width that is known, of f32 where nothing else is said.
FailureOr<int64_t> verifyRows(Operation *op, const Twine &what, Value value, Type element = Type());

/// Rows `[T, W]` and an out of the same width; the number of its rows may be another.
LogicalResult verifyRowsAndOut(Operation *op, const Twine &what, Value rows, Value out);

/// Rows of words, each of two bfloat16, for `width` features.
LogicalResult verifyWords(Operation *op, const Twine &what, Value value, int64_t width);

/// An out of f32, or of bf16 or f16 or words of bfloat16, to which its numbers are rounded then.
LogicalResult verifyRoundedOut(Operation *op, Value out, ArrayRef<int64_t> shape);

/// Attention's position_bias: `[heads]` or `[heads, P]`, or none.
LogicalResult verifyBias(Operation *op, Value value, int64_t heads);

/// Attention's query_scores and key_scores, and the columns of distances in them; or none.
LogicalResult verifyScores(Operation *op, Value queryScores, Value keyScores, Value columns,
                           int64_t heads, int64_t kvHeads);

/// The x and table of relative_scores and its backward.
LogicalResult verifyScoredRows(Operation *op, Value x, Value table, int64_t heads);

LogicalResult verifyCount(Operation *op, StringRef what, size_t expected, size_t found);

/// All operands are tensors or all are memrefs; results follow from that by the
/// destination-style interface.
LogicalResult verifyKernel(Operation *op, size_t expectedOuts);

} // namespace mlir::transformer::kernel

#endif // CODEGEN_KERNELS_KERNELVERIFY_H
