//===- HoistParameters.cpp - computations on parameters leave the layers --===//
#include "mlir/IR/IRMapping.h"
#include "passes/ParameterAnalysis.h"
#include "passes/Passes.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_HOISTPARAMETERSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// A private function that is only called, and all its calls.
struct Layer {
  func::FuncOp function;
  SmallVector<func::CallOp> calls;
};

bool anyParameter(GetParameterOp) { return true; }

/// All layers of `module`, callers before callees. Recursive functions and what
/// they call are none.
SmallVector<Layer> findLayers(ModuleOp module) {
  SymbolTableCollection symbols;
  SymbolUserMap users(symbols, module);
  llvm::MapVector<Operation *, Layer> layers;
  SmallVector<Operation *> ready; // functions all of whose calls have been seen
  for (auto function : module.getOps<func::FuncOp>()) {
    Layer layer{function, {}};
    bool onlyCalled = !isEntry(function) && !function.isExternal();
    for (Operation *user : users.getUsers(function)) {
      auto call = dyn_cast<func::CallOp>(user);
      if (!call || call.getCallee() != function.getSymName() ||
          !call->getParentOfType<func::FuncOp>()) {
        onlyCalled = false;
        break;
      }
      layer.calls.push_back(call);
    }
    if (onlyCalled && !layer.calls.empty())
      layers[function] = layer;
    else
      ready.push_back(function);
  }

  DenseMap<Operation *, SmallVector<Operation *>> callees; // one entry a call
  DenseMap<Operation *, size_t> unseen;
  for (auto &[function, layer] : layers) {
    unseen[function] = layer.calls.size();
    for (func::CallOp call : layer.calls)
      callees[call->getParentOfType<func::FuncOp>()].push_back(function);
  }
  SmallVector<Layer> order;
  while (!ready.empty()) {
    Operation *caller = ready.pop_back_val();
    for (Operation *callee : callees.lookup(caller)) {
      if (--unseen[callee])
        continue;
      order.push_back(layers[callee]);
      ready.push_back(callee);
    }
  }
  return order;
}

/// Arguments to which every call passes a derived value.
DenseSet<Value> findDerivedArguments(MutableArrayRef<Layer> layers) {
  DenseSet<Value> arguments;
  ParameterAnalysis analysis(arguments, anyParameter);
  for (Layer &layer : layers)
    for (BlockArgument argument : layer.function.getArguments())
      if (llvm::all_of(layer.calls, [&](func::CallOp call) {
            return analysis.isDerived(call.getOperand(argument.getArgNumber()));
          }))
        arguments.insert(argument);
  return arguments;
}

/// Clones `slice`, ops of the called function, before `call` and passes `roots`.
void computeAtCall(func::CallOp call, func::FuncOp function, ArrayRef<Operation *> slice,
                   const ParameterAnalysis::Roots &roots) {
  IRMapping mapping;
  mapping.map(function.getArguments(), call.getOperands());
  OpBuilder builder(call);
  for (Operation *op : slice)
    builder.clone(*op, mapping);
  SmallVector<Value> values;
  for (const auto &root : roots)
    values.push_back(mapping.lookup(root.first));
  call.getOperandsMutable().append(values);
}

/// Turns the derived expressions of `layer` into arguments.
LogicalResult hoist(Layer &layer, DenseSet<Value> &derivedArguments) {
  func::FuncOp function = layer.function;
  ParameterAnalysis analysis(derivedArguments, anyParameter);
  ParameterAnalysis::Roots roots = analysis.findRoots(function);
  if (roots.empty())
    return success();
  llvm::SetVector<Operation *> slice;
  for (const auto &root : roots)
    collectSlice(root.first, slice);
  for (func::CallOp call : layer.calls)
    computeAtCall(call, function, slice.getArrayRef(), roots);
  for (auto &[root, uses] : roots) {
    unsigned index = function.getNumArguments();
    if (failed(function.insertArgument(index, root.getType(), /*argAttrs=*/{}, root.getLoc())))
      return failure();
    BlockArgument argument = function.getArgument(index);
    derivedArguments.insert(argument);
    for (OpOperand *use : uses)
      use->set(argument);
  }
  return success();
}

/// Drops arguments that `layer` does not read, here and in every call.
LogicalResult dropUnusedArguments(Layer &layer, DenseSet<Value> &derivedArguments) {
  func::FuncOp function = layer.function;
  BitVector unused(function.getNumArguments());
  for (BlockArgument argument : function.getArguments()) {
    if (!argument.use_empty())
      continue;
    unused.set(argument.getArgNumber());
    derivedArguments.erase(argument);
  }
  if (unused.none())
    return success();
  for (func::CallOp call : layer.calls)
    call->eraseOperands(unused);
  return function.eraseArguments(unused);
}

struct HoistParameters : transformer::impl::HoistParametersPassBase<HoistParameters> {
  void runOnOperation() override {
    SmallVector<Layer> layers = findLayers(getOperation());
    DenseSet<Value> derivedArguments = findDerivedArguments(layers);
    for (Layer &layer : llvm::reverse(layers)) {
      if (failed(hoist(layer, derivedArguments)))
        return signalPassFailure();
      eraseDeadOps(layer.function);
      if (failed(dropUnusedArguments(layer, derivedArguments)))
        return signalPassFailure();
    }
    for (auto function : getOperation().getOps<func::FuncOp>())
      eraseDeadOps(function); // what was only passed to dropped arguments

    ParameterAnalysis analysis(derivedArguments, anyParameter);
    for (Layer &layer : layers)
      if (Operation *left =
              analysis.find(layer.function, [&](Operation *op) { return analysis.mayLeave(op); })) {
        left->emitError() << left->getName() << " on parameters was not hoisted out of @"
                          << layer.function.getSymName();
        return signalPassFailure();
      }
  }
};

} // namespace
