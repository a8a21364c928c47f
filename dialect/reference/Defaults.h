//===- Defaults.h - inputs that were not given ------------------*- C++ -*-===//
#ifndef DIALECT_REFERENCE_DEFAULTS_H
#define DIALECT_REFERENCE_DEFAULTS_H

#include "dialect/reference/Interpreter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>

namespace mlir::transformer::reference {

/// Inputs by name (`transformer.name`).
using NamedTensors = std::map<std::string, Tensor, std::less<>>;

/// The inputs of `entry` in argument order: those given, the others made by
/// `transformer.default` (docs/module-abi.md says how, and where their sizes
/// come from). Fails on an unknown name, an input without a default, dimensions
/// that disagree and values outside `transformer.range`.
FailureOr<std::vector<Tensor>> completeInputs(func::FuncOp entry, NamedTensors given,
                                              std::string &error);

} // namespace mlir::transformer::reference

#endif // DIALECT_REFERENCE_DEFAULTS_H
