//===- LinearMarks.h - what the passes on linear layers tell each other ---===//
#ifndef CODEGEN_CPU_LINEAR_LINEARMARKS_H
#define CODEGEN_CPU_LINEAR_LINEARMARKS_H

#include "llvm/ADT/StringRef.h"

namespace mlir::transformer {

/// Mark a linear's contraction, with the name of its format, and its epilogue.
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

} // namespace mlir::transformer

#endif // CODEGEN_CPU_LINEAR_LINEARMARKS_H
