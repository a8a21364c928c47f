//===- KernelDialect.h - destination-style kernels ------------------------===//
#ifndef CODEGEN_KERNELS_KERNELDIALECT_H
#define CODEGEN_KERNELS_KERNELDIALECT_H

#include "dialect/TransformerDialect.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

#include "codegen/kernels/KernelDialect.h.inc"

#define GET_OP_CLASSES
#include "codegen/kernels/KernelOps.h.inc"

namespace mlir::transformer::kernel {

/// Lets one-shot bufferisation handle the dialect's ops.
void registerBufferization(DialectRegistry &registry);

} // namespace mlir::transformer::kernel

#endif // CODEGEN_KERNELS_KERNELDIALECT_H
