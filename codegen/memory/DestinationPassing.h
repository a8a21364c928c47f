//===- DestinationPassing.h - results written where the caller wants them -===//
#ifndef CODEGEN_MEMORY_DESTINATIONPASSING_H
#define CODEGEN_MEMORY_DESTINATIONPASSING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace mlir::transformer {

/// Whether one op alone reads the elements of `value`; tensor.dim reads its shape.
bool hasOneReader(Value value);

/// Whether an op's result is its first operand's elements, or some of them, where they lie.
bool isView(Operation *op);

/// Makes the computation of what `use` reads write to `destination`, an argument of
/// the same type: follows tied inits and reshapes up to where its memory is made and
/// replaces that. Returns false, changing nothing, where this is not possible.
bool writeInto(func::FuncOp function, OpOperand &use, Value destination);

/// Adds an argument for each result of a function of one block, behind the others, that the result
/// is written to: in place where possible, else by a copy before the return. A result's attributes
/// become the argument's, of an entry point with `transformer.output`. A result that is state is
/// written to the argument that it updates. Calls are not changed.
void addDestinations(func::FuncOp function);

/// Results of a function that get arguments of their own.
unsigned numDestinations(func::FuncOp function);

/// The operand that a call's result is written to, once it has its destinations.
unsigned destinationOf(func::CallOp call, unsigned result);

/// Makes the computation of a returned value write to `state`, the argument of its type that it
/// updates: nothing is to do where it does so; else its memory becomes the argument's where nothing
/// reads the argument later; else it is copied there.
void updateInPlace(func::FuncOp function, OpOperand &result, BlockArgument state);

} // namespace mlir::transformer

#endif // CODEGEN_MEMORY_DESTINATIONPASSING_H
