//===- Flops.h - floating point operations of an entry point --------------===//
#ifndef CODEGEN_ANALYSIS_FLOPS_H
#define CODEGEN_ANALYSIS_FLOPS_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::transformer {

/// Attribute of entry points that countFlops sets: the `flops` object of
/// docs/module-abi.md.
inline constexpr llvm::StringLiteral kFlopsAttr = "transformer.flops";

/// Marks linears on one row a sequence instead of one a token, and the products that
/// they become.
inline constexpr llvm::StringLiteral kPerSequenceAttr = "transformer.per_sequence";

/// Counts the matrix products of every entry point of a module of core ops, per
/// unmasked token of each mask, per row of it (heads that read one token a
/// sequence; their linears are marked with kPerSequenceAttr) and per pair of
/// query and key.
void countFlops(ModuleOp module);

} // namespace mlir::transformer

#endif // CODEGEN_ANALYSIS_FLOPS_H
