//===- State.cpp - arguments that functions update in place ---------------===//
#include "dialect/State.h"
#include "dialect/TransformerDialect.h"
#include "llvm/ADT/MapVector.h"

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

/// The first argument that is a state's; the number of arguments if none is.
static unsigned firstState(FunctionOpInterface function) {
  unsigned i = 0;
  while (i < function.getNumArguments() && !function.getArgAttr(i, attr::state))
    ++i;
  return i;
}

static LogicalResult verifyStates(FunctionOpInterface function) {
  auto error = [&](StringRef name) {
    return function->emitOpError() << "state \"" << name << "\": ";
  };
  struct State {
    unsigned argument;
    unsigned updated = 0; // times
  };
  llvm::MapVector<StringRef, State> states;
  for (unsigned i = firstState(function); i < function.getNumArguments(); ++i) {
    Type type = function.getArgumentTypes()[i];
    auto attribute = function.getArgAttrOfType<StringAttr>(i, attr::state);
    if (!attribute || isa<BaseMemRefType>(type)) // results are gone, the memory has been updated
      continue;
    StringRef name = attribute.getValue();
    if (name.empty())
      return error(name) << "expected a name";
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || tensor.getNumDynamicDims() > 1)
      return error(name) << "expected a tensor with at most one dynamic size, found " << type;
    auto [other, isNew] = states.insert({name, {i}});
    if (!isNew)
      return error(name) << "arguments " << other->second.argument << " and " << i
                         << " both have it";
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto attribute = function.getResultAttrOfType<StringAttr>(i, attr::state);
    if (!attribute)
      continue;
    StringRef name = attribute.getValue();
    auto *state = states.find(name);
    if (state == states.end())
      return error(name) << "result " << i << " updates no argument";
    ++state->second.updated;
    Type type = function.getArgumentTypes()[state->second.argument];
    if (function.getResultTypes()[i] != type)
      return error(name) << "expected a result of the argument's type " << type << ", found "
                         << function.getResultTypes()[i];
  }
  for (auto &[name, state] : states)
    if (state.updated != 1)
      return error(name) << "expected one result that is the updated argument " << state.argument
                         << ", found " << state.updated;
  return success();
}

LogicalResult transformer::verifyStateArgument(FunctionOpInterface function, unsigned argument) {
  return argument == firstState(function) ? verifyStates(function) : success();
}

LogicalResult transformer::verifyStateResult(FunctionOpInterface function) {
  return firstState(function) < function.getNumArguments() ? success() : verifyStates(function);
}
