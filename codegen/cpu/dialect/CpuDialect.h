//===- CpuDialect.h - what only a CPU's code generation knows -------------===//
#ifndef CODEGEN_CPU_DIALECT_CPUDIALECT_H
#define CODEGEN_CPU_DIALECT_CPUDIALECT_H

#include "codegen/kernels/KernelDialect.h"
#include "dialect/QuantizeOps.h"
#include "dialect/StaysInCalls.h"

#include "codegen/cpu/dialect/CpuDialect.h.inc"
#include "codegen/cpu/dialect/CpuEnums.h.inc"

namespace mlir::transformer::cpu {

/// Of ops on matrix registers, which are no kernels: they have no nest of loops.
template <typename ConcreteOp>
class OnMatrixRegisters : public OpTrait::TraitBase<ConcreteOp, OnMatrixRegisters> {};

} // namespace mlir::transformer::cpu

#define GET_ATTRDEF_CLASSES
#include "codegen/cpu/dialect/CpuAttrs.h.inc"

#define GET_OP_CLASSES
#include "codegen/cpu/dialect/CpuOps.h.inc"
#define GET_OP_CLASSES
#include "codegen/cpu/dialect/MatrixOps.h.inc"

namespace mlir::transformer::cpu {

/// Lets one-shot bufferisation handle the dialect's ops.
void registerBufferization(DialectRegistry &registry);

} // namespace mlir::transformer::cpu

#endif // CODEGEN_CPU_DIALECT_CPUDIALECT_H
