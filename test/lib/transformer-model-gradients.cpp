//===- transformer-model-gradients.cpp - gradients of a checkpoint's loss -===//
//
// A test tool. Adds the loss to a checkpoint's model, differentiates it,
// evaluates both in float64 and compares them with a file that has the tensor
// "loss" and each parameter's gradient under the parameter's name, and nothing
// else.
//
//===----------------------------------------------------------------------===//
#include "dialect/DifferentiateInterface.h"
#include "dialect/reference/Defaults.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "models/Import.h"
#include "passes/Passes.h"
#include "tools/CompiledProgram.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;
namespace cl = llvm::cl;

/// The largest difference over the largest expected number; NaN where shapes differ.
static double differenceOf(const reference::Tensor &found, const reference::Tensor &expected) {
  if (found.shape != expected.shape && found.size() * expected.size() != 1)
    return NAN;
  double largest = 0, worst = 0;
  for (auto [x, y] : llvm::zip_equal(found.reals(), expected.reals())) {
    largest = std::max(largest, std::abs(y));
    if (!(std::abs(x - y) <= worst))
      worst = std::abs(x - y);
  }
  return worst / std::max(largest, 1e-6);
}

/// A tensor under the parameter's name or an alias; the end if there is none.
static reference::NamedTensors::const_iterator expectedOf(const reference::NamedTensors &tensors,
                                                          ModuleOp module, StringRef name) {
  auto parameter = module.lookupSymbol<ParameterOp>(name);
  std::vector<std::string> names = {name.str()};
  if (parameter && parameter.getAliases())
    for (auto alias : parameter.getAliases()->getAsValueRange<StringAttr>())
      names.push_back(alias.str());
  for (const std::string &each : names)
    if (auto found = tensors.find(each); found != tensors.end())
      return found;
  return tensors.end();
}

static int fail(const Twine &message) {
  llvm::errs() << "error: " << message << '\n';
  return 2;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::opt<std::string> checkpoint(cl::Positional, cl::desc("<checkpoint>"), cl::Required);
  cl::opt<std::string> inputs("inputs", cl::desc("Inputs and labels"), cl::Required);
  cl::opt<std::string> expected("expected", cl::desc("Loss and gradients"), cl::Required);
  cl::opt<std::string> recompute("recompute", cl::desc("As of transformer-differentiate"),
                                 cl::init("none"));
  cl::opt<double> bound("bound", cl::desc("Largest difference, over a gradient's largest number"),
                        cl::init(1e-6));
  cl::ParseCommandLineOptions(argc, argv, "gradients of a checkpoint's loss\n");

  DialectRegistry registry;
  registerImportDialects(registry);
  reference::registerEvaluation(registry);
  registerDifferentiation(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  std::string error;
  auto module = importModel(checkpoint, context, error);
  if (failed(module))
    return fail(error);
  PassManager manager(&context);
  manager.addPass(createAddLossPass());
  manager.addPass(createExpandCompositesPass());
  manager.addPass(createDifferentiatePass({"loss", recompute}));
  manager.addPass(createCanonicalizerPass());
  if (failed(manager.run(**module)))
    return 2;
  auto given = RunData::open(checkpoint, {inputs}), wanted = RunData::open(checkpoint, {expected});
  if (!given || !wanted)
    return fail("cannot read the tensors");
  auto function = (*module)->lookupSymbol<func::FuncOp>("loss_and_gradients");
  auto arguments = reference::completeInputs(function, given->inputs(), error);
  if (failed(arguments))
    return fail(error);
  auto results = reference::run(
      **module, function.getName(), *arguments,
      [&](ParameterOp op) { return given->parameter(op); }, error);
  if (failed(results))
    return fail(error);
  unsigned bad = 0;
  double worst = 0;
  reference::NamedTensors missing = wanted->inputs();
  for (auto [i, found] : llvm::enumerate(*results)) {
    StringRef name = function.getResultAttrOfType<StringAttr>(i, attr::name).getValue();
    name.consume_back(".grad");
    auto tensor = expectedOf(wanted->inputs(), **module, name);
    bool isExpected = tensor != wanted->inputs().end();
    double difference = isExpected ? differenceOf(found, tensor->second) : NAN;
    if (isExpected)
      missing.erase(tensor->first);
    worst = std::max(worst, difference);
    if (difference <= bound)
      continue;
    ++bad;
    llvm::outs() << name << (isExpected ? ": " : ": not expected, ")
                 << llvm::format("%.1e", difference) << '\n';
  }
  for (const auto &[name, tensor] : missing)
    llvm::outs() << name << ": has no gradient\n";
  bad += missing.size();
  llvm::outs() << results->size() << " tensors, largest difference " << llvm::format("%.1e", worst)
               << '\n';
  return bad ? 1 : 0;
}
