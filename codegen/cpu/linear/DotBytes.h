//===- DotBytes.h - products of bytes -------------------------------------===//
#ifndef CODEGEN_CPU_LINEAR_DOTBYTES_H
#define CODEGEN_CPU_LINEAR_DOTBYTES_H

#include "codegen/cpu/dialect/CpuDialect.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::transformer {

/// Puts the target's instructions, or arithmetic that any has, in the place of a
/// `transformer_cpu.dot_bytes` on vectors.
void lowerDotBytes(RewriterBase &rewriter, cpu::DotBytesOp op, cpu::TargetAttr target);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_LINEAR_DOTBYTES_H
