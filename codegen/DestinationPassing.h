//===- DestinationPassing.h - results written where the caller wants them -===//
#ifndef CODEGEN_DESTINATIONPASSING_H
#define CODEGEN_DESTINATIONPASSING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace mlir::transformer {

/// Whether one op alone reads the elements of `value`; tensor.dim reads its shape.
bool hasOneReader(Value value);

/// Makes the computation of `value` write to `destination`, an argument of the
/// same type: follows tied inits and reshapes up to a tensor.empty and replaces
/// that. Returns false, changing nothing, where this is not possible.
bool writeInto(func::FuncOp function, Value value, Value destination);

/// `value`, written to `destination`: in place where possible, else by a copy at
/// the builder's place.
Value writeOrCopyInto(OpBuilder &b, func::FuncOp function, Value value, Value destination);

} // namespace mlir::transformer

#endif // CODEGEN_DESTINATIONPASSING_H
