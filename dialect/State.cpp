//===- State.cpp - arguments that functions update in place ---------------===//
#include "dialect/State.h"
#include "dialect/TransformerDialect.h"

using namespace mlir;
using namespace mlir::transformer;

StringRef transformer::stateOfArgument(FunctionOpInterface function, unsigned argument) {
  auto name = function.getArgAttrOfType<StringAttr>(argument, attr::state);
  return name ? name.getValue() : StringRef();
}

StringRef transformer::stateOfResult(FunctionOpInterface function, unsigned result) {
  auto name = function.getResultAttrOfType<StringAttr>(result, attr::state);
  return name ? name.getValue() : StringRef();
}

std::optional<unsigned> transformer::updatedArgument(FunctionOpInterface function,
                                                     unsigned result) {
  StringRef name = stateOfResult(function, result);
  if (!name.empty())
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (stateOfArgument(function, i) == name)
        return i;
  return std::nullopt;
}

LogicalResult transformer::verifyStateArgument(FunctionOpInterface function, unsigned argument) {
  Type type = function.getArgumentTypes()[argument];
  if (isa<BaseMemRefType>(type)) // results are gone, the argument's memory has been updated
    return success();
  StringRef name = stateOfArgument(function, argument);
  auto error = [&] { return function->emitOpError() << "state \"" << name << "\": "; };
  if (name.empty())
    return error() << "expected a name";
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.getNumDynamicDims() > 1)
    return error() << "expected a tensor with at most one dynamic size, found " << type;
  for (unsigned i = 0; i < argument; ++i)
    if (stateOfArgument(function, i) == name)
      return error() << "arguments " << i << " and " << argument << " both have it";
  unsigned updated = 0;
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    if (stateOfResult(function, i) != name)
      continue;
    ++updated;
    if (function.getResultTypes()[i] != type)
      return error() << "expected a result of the argument's type " << type << ", found "
                     << function.getResultTypes()[i];
  }
  if (updated != 1)
    return error() << "expected one result that is the updated argument " << argument << ", found "
                   << updated;
  return success();
}

LogicalResult transformer::verifyStateResult(FunctionOpInterface function, unsigned result) {
  if (updatedArgument(function, result))
    return success();
  return function->emitOpError() << "state \"" << stateOfResult(function, result) << "\": result "
                                 << result << " updates no argument";
}
