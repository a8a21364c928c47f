//===- SplitSums.h - long sums in parts -------------------------*- C++ -*-===//
#ifndef CODEGEN_CPU_LINEAR_SPLITSUMS_H
#define CODEGEN_CPU_LINEAR_SPLITSUMS_H

#include "codegen/cpu/linear/LinearFormat.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::transformer {

/// The products that take the place of `product`: of parts of its sum, from the first input to the
/// last, where its weight changes from call to call and its panels would have to go through
/// memory; else `product` itself.
SmallVector<linalg::MatmulOp> splitSum(IRRewriter &rewriter, linalg::MatmulOp product,
                                       const LinearOperands &operands, const LinearFormat &format,
                                       cpu::TargetAttr target);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_LINEAR_SPLITSUMS_H
