//===- transformer-check-interfaces.cpp - what each op must bring ---------===//
//
// A test tool. Names the ops of the transformer dialect that have results but
// lack an interface: evaluation in the reference interpreter, cost.
//
//===----------------------------------------------------------------------===//
#include "dialect/reference/Evaluate.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::transformer;

int main() {
  DialectRegistry registry;
  registry.insert<TransformerDialect>();
  reference::registerEvaluation(registry);
  MLIRContext context(registry);
  context.loadDialect<TransformerDialect>();
  unsigned count = 0, missing = 0;
  auto check = [&](RegisteredOperationName name, bool has, StringRef interface) {
    if (!has)
      llvm::outs() << name << " has no " << interface << '\n';
    missing += !has;
  };
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    if (name.getDialectNamespace() != "transformer" || name.hasTrait<OpTrait::ZeroResults>())
      continue; // of another dialect, or a declaration
    ++count;
    check(name, name.hasInterface<reference::EvaluateOpInterface>(), "evaluation");
    check(name, name.hasInterface<CostOpInterface>(), "cost");
  }
  llvm::outs() << count << " ops\n";
  return missing || !count;
}
