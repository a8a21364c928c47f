//===- DestinationPassing.h - results written where the caller wants them -===//
#ifndef CODEGEN_MEMORY_DESTINATIONPASSING_H
#define CODEGEN_MEMORY_DESTINATIONPASSING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace mlir::transformer {

/// Whether one op alone reads the elements of `value`; tensor.dim reads its shape.
bool hasOneReader(Value value);

/// Makes the computation of what `use` reads write to `destination`, an argument of
/// the same type: follows tied inits and reshapes up to where its memory is made and
/// replaces that. Returns false, changing nothing, where this is not possible.
bool writeInto(func::FuncOp function, OpOperand &use, Value destination);

/// Adds an argument for each result of a function of one block, behind the others, that the result
/// is written to: in place where possible, else by a copy before the return. A result's attributes
/// become the argument's. Calls are not changed.
void addDestinations(func::FuncOp function);

} // namespace mlir::transformer

#endif // CODEGEN_MEMORY_DESTINATIONPASSING_H
