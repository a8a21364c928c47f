//===- Dispatch.h - an op as what it is -------------------------*- C++ -*-===//
#ifndef CODEGEN_KERNELS_DISPATCH_H
#define CODEGEN_KERNELS_DISPATCH_H

#include "mlir/IR/Operation.h"

namespace mlir::transformer::kernel {

/// Calls `emit` with `op` as the one of OpTys that it is, if `emit` takes that one; a value that it
/// returns replaces the op's result. Whether it was called.
template <typename... OpTys, typename Emit> bool emitAs(Operation *op, Emit emit) {
  auto emitIf = [&]<typename OpTy>(std::type_identity<OpTy>) {
    auto typed = dyn_cast<OpTy>(op);
    if (!typed)
      return false;
    if constexpr (requires { emit(typed); }) {
      if constexpr (std::is_void_v<decltype(emit(typed))>)
        emit(typed);
      else
        op->getResult(0).replaceAllUsesWith(emit(typed));
      return true;
    }
    return false;
  };
  return (emitIf(std::type_identity<OpTys>()) || ...);
}

} // namespace mlir::transformer::kernel

#endif // CODEGEN_KERNELS_DISPATCH_H
