//===- KernelBufferization.h - destination-style ops on buffers -----------===//
#ifndef CODEGEN_KERNELS_KERNELBUFFERIZATION_H
#define CODEGEN_KERNELS_KERNELBUFFERIZATION_H

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

namespace mlir::transformer::kernel {

/// Replaces the op by itself on buffers; results become the outs' buffers.
LogicalResult bufferizeKernel(Operation *op, RewriterBase &rewriter,
                              const bufferization::BufferizationOptions &options,
                              bufferization::BufferizationState &state);

/// Whether `read` and `write` may be one buffer: a layer norm reads all of a row of x and residual
/// before it writes that row of an out.
bool mayShareMemory(Operation *op, OpOperand *read, OpOperand *write);

/// Whether a kernel reads its outs. Most fill them.
bool readsOuts(Operation *op);

template <typename OpTy>
struct KernelBufferization
    : bufferization::DstBufferizableOpInterfaceExternalModel<KernelBufferization<OpTy>, OpTy> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const bufferization::AnalysisState &) const {
    return !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand) || readsOuts(op);
  }
  bool isNotConflicting(Operation *op, OpOperand *read, OpOperand *write,
                        const bufferization::AnalysisState &) const {
    return mayShareMemory(op, read, write);
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const bufferization::BufferizationOptions &options,
                          bufferization::BufferizationState &state) const {
    return bufferizeKernel(op, rewriter, options, state);
  }
};

/// For those of `OpTys` that have destinations.
template <typename... OpTys> void attachKernelBufferization(MLIRContext &context) {
  auto attach = [&]<typename OpTy>(std::type_identity<OpTy>) {
    if constexpr (OpTy::template hasTrait<DestinationStyleOpInterface::Trait>())
      OpTy::template attachInterface<KernelBufferization<OpTy>>(context);
  };
  (attach(std::type_identity<OpTys>()), ...);
}

} // namespace mlir::transformer::kernel

#endif // CODEGEN_KERNELS_KERNELBUFFERIZATION_H
