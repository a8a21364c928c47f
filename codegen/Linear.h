//===- Linear.h - a linear layer and what follows it, as linalg -----------===//
#ifndef CODEGEN_LINEAR_H
#define CODEGEN_LINEAR_H

#include "dialect/TransformerDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::transformer {

/// Unit attributes that mark a linear's contraction and epilogue for the passes
/// that tile them.
inline constexpr llvm::StringLiteral kContractionAttr = "transformer.contraction";
inline constexpr llvm::StringLiteral kEpilogueAttr = "transformer.epilogue";
/// Marks the loop over k of a register tile; an index: how many steps.
inline constexpr llvm::StringLiteral kLoopOverK = "transformer.k_loop";
/// Beside it; an index: products of a step, if more than one.
inline constexpr llvm::StringLiteral kStepOfK = "transformer.k_step";
/// Marks the loop over blocks of k around it, if there is one.
inline constexpr llvm::StringLiteral kLoopOverKBlocks = "transformer.k_blocks";
/// On the outermost of these: how many steps the register tile has gone through
/// before it, if any.
inline constexpr llvm::StringLiteral kBefore = "transformer.k_before";
/// Marks linears on one row a sequence instead of one a token (countFlops).
inline constexpr llvm::StringLiteral kPerSequenceAttr = "transformer.per_sequence";

/// A `linear` and the elementwise ops behind it that become its epilogue: an
/// activation, then the addition of a residual, each the only use of the value
/// before it.
struct LinearChain {
  LinearOp linear;
  ActivationOp activation;
  arith::AddFOp add;

  /// The chain that starts at `op`; empty if `op` is no linear.
  static LinearChain startingAt(Operation *op, int64_t panelColumns);
  explicit operator bool() const { return !!linear; }
  Operation *tail() const;
  SmallVector<Operation *> links() const;
};

/// Emits pack, fill, contraction and epilogue of a chain; returns `[T, N]`.
/// `squares`, which may be null, are what the squares of x's features are about
/// (`transformer_kernel.estimated`).
Value emitLinear(ImplicitLocOpBuilder &b, LinearChain chain, int64_t panelColumns, bool winograd,
                 Value squares);

/// Emits `kind` of every element of x as one linalg.generic.
Value emitActivationGeneric(ImplicitLocOpBuilder &b, ActivationKind kind, Value x);

} // namespace mlir::transformer

#endif // CODEGEN_LINEAR_H
