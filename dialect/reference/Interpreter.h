//===- Interpreter.h - the executable specification -------------*- C++ -*-===//
//
// Evaluates the transformer dialect in double precision, op by op, from the
// formulas in the op descriptions. It is written for reading and is the oracle
// of all tests: never make it fast at the price of making it clever.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECT_REFERENCE_INTERPRETER_H
#define DIALECT_REFERENCE_INTERPRETER_H

#include "dialect/TransformerDialect.h"
#include "dialect/reference/Tensor.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace mlir::transformer::reference {

/// Supplies the value of a `transformer.parameter`.
using ParameterSource = llvm::function_ref<FailureOr<Tensor>(ParameterOp)>;

/// Watches an evaluation.
struct Observer {
  virtual ~Observer() = default;
  /// Called after each op of the entry and of the functions that it calls, with
  /// the `transformer.scope` (or the callee's name) of the calls around it,
  /// outermost first, and its results in order; null for one that is no tensor.
  virtual void observe(Operation *op, llvm::ArrayRef<std::string> scopes,
                       llvm::ArrayRef<const Tensor *> results) = 0;
};

/// Runs function `name` of `module` on inputs in argument order; returns its
/// results in order. Each parameter that is read is asked for once. Fails with
/// the scope, the op and its location in `error`.
FailureOr<std::vector<Tensor>> run(ModuleOp module, llvm::StringRef name,
                                   llvm::ArrayRef<Tensor> inputs, ParameterSource parameters,
                                   std::string &error, Observer *observer = nullptr);

/// Gives the ops of the dialect and those of others that models use their
/// evaluation. The context of a module that is run needs it.
void registerEvaluation(DialectRegistry &registry);

/// The value of a dense attribute of floats or integers; fails on others.
FailureOr<Tensor> fromAttribute(Attribute attribute);

} // namespace mlir::transformer::reference

#endif // DIALECT_REFERENCE_INTERPRETER_H
