//===- HostCalls.h - calls of what the host gives a module ------*- C++ -*-===//
#ifndef CODEGEN_MODULE_HOSTCALLS_H
#define CODEGEN_MODULE_HOSTCALLS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::transformer {

/// Declares a function of runtime/abi/ModuleAbi.h, once.
void declareHostFunction(ModuleOp module, StringRef name, TypeRange arguments,
                         TypeRange results = {});

/// Memory of the function's frame, outside of loops around the builder's place; it stands before
/// all that is in the function now.
Value stackSlot(ImplicitLocOpBuilder &b, func::FuncOp function, Type type);

/// tr_scope before every call that names its layer, and null at the end.
void emitScopes(ModuleOp module);

} // namespace mlir::transformer

#endif // CODEGEN_MODULE_HOSTCALLS_H
