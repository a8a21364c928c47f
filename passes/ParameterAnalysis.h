//===- ParameterAnalysis.h - what depends on parameters only --------------===//
//
// Shared by transformer-hoist-parameters and transformer-outline-prepared;
// Passes.td says what "derived" means.
#ifndef PASSES_PARAMETERANALYSIS_H
#define PASSES_PARAMETERANALYSIS_H

#include "dialect/TransformerDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::transformer {

/// Finds values that are derived from parameters. Answers are remembered: make
/// a new analysis when ops have changed.
class ParameterAnalysis {
public:
  /// Uses of a value by ops that stay.
  using Roots = llvm::MapVector<Value, SmallVector<OpOperand *>>;

  /// `arguments` are function arguments known to be derived; `isSource` says
  /// whether a get_parameter counts. Both must outlive the analysis.
  ParameterAnalysis(const llvm::DenseSet<Value> &arguments,
                    llvm::function_ref<bool(GetParameterOp)> isSource)
      : arguments(arguments), isSource(isSource) {}

  bool isDerived(Value value);
  bool isDerived(Operation *op);

  /// Whether `op` is derived, no constant, and its results can be prepared tensors.
  bool mayLeave(Operation *op);

  /// Calls `visit` on every op of `function`, but not on those inside the
  /// regions of derived ops. Stops at and returns the first op for which
  /// `visit` returns true; null if there is none.
  Operation *find(func::FuncOp function, llvm::function_ref<bool(Operation *)> visit);

  /// Results of derived ops that may leave and that ops read which stay, in the order of first
  /// use.
  Roots findRoots(func::FuncOp function);

private:
  void addRoot(OpOperand &use, Roots &roots);

  const llvm::DenseSet<Value> &arguments;
  llvm::function_ref<bool(GetParameterOp)> isSource;
  llvm::DenseMap<Operation *, bool> known;
};

/// Adds the ops that compute the derived value `root`, constants included, to
/// `slice`, operands before their users. Values for which `isKnown` are not
/// computed.
void collectSlice(
    Value root, llvm::SetVector<Operation *> &slice,
    llvm::function_ref<bool(Value)> isKnown = [](Value) { return false; });

/// Erases the ops of `function` that nobody needs.
void eraseDeadOps(func::FuncOp function);

/// A function that others than the module's calls may enter.
bool isEntry(func::FuncOp function);

} // namespace mlir::transformer

#endif // PASSES_PARAMETERANALYSIS_H
