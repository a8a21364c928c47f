//===- transformer-interpret.cpp - runs IR in the reference interpreter ---===//
//
// A test tool. Runs functions of a module on the values that their arguments
// and the module's parameters carry as `test.value = dense<...>` and prints
// the results with nine digits. Arguments without a value are made by their
// `transformer.default`.
//
//===----------------------------------------------------------------------===//
#include "dialect/ModelText.h"
#include "dialect/reference/Defaults.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::reference;
namespace cl = llvm::cl;

static constexpr llvm::StringLiteral valueName = "test.value";

/// The shape on the first line, then one line for each row.
static void print(const Tensor &tensor) {
  llvm::outs() << '[';
  llvm::interleaveComma(tensor.shape, llvm::outs());
  llvm::outs() << "]\n";
  int64_t columns = tensor.shape.empty() ? 1 : tensor.shape.back();
  for (int64_t i = 0; i < tensor.size(); ++i) {
    if (tensor.isInteger())
      llvm::outs() << tensor.integers()[i];
    else
      llvm::outs() << llvm::format("%.9g", tensor.reals()[i]);
    llvm::outs() << ((i + 1) % columns ? ' ' : '\n');
  }
}

namespace {
/// Prints each op that is evaluated and the scope that it is in.
struct PrintOps : Observer {
  void observe(Operation *op, ArrayRef<std::string> scopes,
               ArrayRef<const Tensor *> results) override {
    llvm::outs() << "op ";
    for (const std::string &scope : scopes)
      llvm::outs() << scope << ": ";
    llvm::outs() << op->getName() << '\n';
  }
};
} // namespace

/// The function's inputs; positional where all are given, else by name.
static FailureOr<std::vector<Tensor>> inputsOf(func::FuncOp function, std::string &error) {
  std::vector<Tensor> inputs;
  NamedTensors given;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    Attribute value = function.getArgAttr(i, valueName);
    if (!value)
      continue;
    FailureOr<Tensor> tensor = fromAttribute(value);
    if (failed(tensor)) {
      error = "test.value is not dense";
      return failure();
    }
    if (auto name = function.getArgAttrOfType<StringAttr>(i, attr::name))
      given[name.str()] = *tensor;
    inputs.push_back(std::move(*tensor));
  }
  if (inputs.size() == function.getNumArguments() && given.empty())
    return inputs;
  return completeInputs(function, std::move(given), error);
}

static LogicalResult runAndPrint(func::FuncOp function, bool observe) {
  std::string error;
  auto parameters = [](ParameterOp op) -> FailureOr<Tensor> {
    if (Attribute value = op->getAttr(valueName))
      return fromAttribute(value);
    return failure();
  };
  PrintOps observer;
  llvm::outs() << '@' << function.getName() << '\n';
  FailureOr<std::vector<Tensor>> inputs = inputsOf(function, error);
  FailureOr<std::vector<Tensor>> results = failure();
  if (succeeded(inputs))
    results = run(function->getParentOfType<ModuleOp>(), function.getName(), *inputs, parameters,
                  error, observe ? &observer : nullptr);
  if (failed(results)) {
    llvm::outs() << "error: " << error << '\n';
    return failure();
  }
  for (const Tensor &result : *results)
    print(result);
  return success();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::opt<std::string> file(cl::Positional, cl::desc("<input file>"), cl::init("-"));
  cl::list<std::string> entries("entry", cl::desc("Functions to run (default: all public ones)"));
  cl::opt<bool> observe("observe", cl::desc("Print every op that is evaluated"));
  cl::ParseCommandLineOptions(argc, argv, "reference interpreter\n");

  DialectRegistry registry;
  registry.insert<TransformerDialect, arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect,
                  scf::SCFDialect, tensor::TensorDialect>();
  registerEvaluation(registry);
  MLIRContext context(registry);
  context.allowUnregisteredDialects(); // test.value
  OwningOpRef<ModuleOp> module = parseModel(file, &context);
  if (!module)
    return 1;
  LogicalResult result = success();
  for (auto function : module->getOps<func::FuncOp>())
    if (entries.empty() ? function.isPublic() : llvm::is_contained(entries, function.getName()))
      if (failed(runAndPrint(function, observe)))
        result = failure();
  return failed(result);
}
