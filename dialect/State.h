//===- State.h - arguments that functions update in place -----------------===//
//
// State enters a function as a tensor and leaves it as its updated self: the
// argument and the result have the attribute `transformer.state`, a name. Of an
// entry point it is the name under which the runtime keeps the tensor from call
// to call; a private function's is its own affair.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECT_STATE_H
#define DIALECT_STATE_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include <optional>

namespace mlir::transformer {

/// The name of the state that an argument or a result is; empty: of none.
llvm::StringRef stateOfArgument(FunctionOpInterface function, unsigned argument);
llvm::StringRef stateOfResult(FunctionOpInterface function, unsigned result);

/// The argument whose updated self a result is, if it is one's.
std::optional<unsigned> updatedArgument(FunctionOpInterface function, unsigned result);

/// Verify that each state is one argument and one result, of one type, a tensor with at most one
/// dynamic size: all of a function's at its first one, since a training step has hundreds.
LogicalResult verifyStateArgument(FunctionOpInterface function, unsigned argument);
LogicalResult verifyStateResult(FunctionOpInterface function);

} // namespace mlir::transformer

#endif // DIALECT_STATE_H
