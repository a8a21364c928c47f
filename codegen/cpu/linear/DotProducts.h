//===- DotProducts.h - products of parts of words -------------------------===//
#ifndef CODEGEN_CPU_LINEAR_DOTPRODUCTS_H
#define CODEGEN_CPU_LINEAR_DOTPRODUCTS_H

#include "codegen/cpu/dialect/CpuDialect.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::transformer {

/// Puts the target's instructions, or arithmetic that any has, in the place of a
/// `transformer_cpu.dot_bytes` on vectors.
void lowerDotBytes(RewriterBase &rewriter, cpu::DotBytesOp op, cpu::TargetAttr target);
/// And those of the target, which has them, in the place of a `transformer_cpu.dot_bfloat16`.
void lowerDotBfloat16(RewriterBase &rewriter, cpu::DotBfloat16Op op, cpu::TargetAttr target);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_LINEAR_DOTPRODUCTS_H
