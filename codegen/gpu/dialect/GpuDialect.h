//===- GpuDialect.h - what only a GPU's code generation knows ---*- C++ -*-===//
#ifndef CODEGEN_GPU_DIALECT_GPUDIALECT_H
#define CODEGEN_GPU_DIALECT_GPUDIALECT_H

#include "codegen/kernels/KernelDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

#include "codegen/gpu/dialect/GpuDialect.h.inc"

#define GET_OP_CLASSES
#include "codegen/gpu/dialect/GpuOps.h.inc"

namespace mlir::transformer::simt {

/// Lets one-shot bufferisation handle the dialect's ops.
void registerBufferization(DialectRegistry &registry);

} // namespace mlir::transformer::simt

#endif // CODEGEN_GPU_DIALECT_GPUDIALECT_H
