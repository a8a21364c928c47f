//===- transformer-check-gradients.cpp - gradients beside differences -----===//
//
// A test tool. Differentiates a loss and evaluates, in float64, its gradients
// and, for some numbers of each parameter, what the loss does when that number
// changes a little. Parameters are random; arguments have their values as
// `test.value = dense<...>` or are random, too, with five rows.
//
//===----------------------------------------------------------------------===//
#include "dialect/DifferentiateInterface.h"
#include "dialect/ModelText.h"
#include "dialect/reference/Interpreter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include <cmath>
#include <random>

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::reference;
namespace cl = llvm::cl;

namespace {

class Check {
public:
  Check(ModuleOp module, unsigned seed) : module(module), random(seed) {}

  LogicalResult run(StringRef loss, size_t samples, double bound) {
    auto function = module.lookupSymbol<func::FuncOp>((loss + "_and_gradients").str());
    for (BlockArgument argument : function.getArguments())
      if (failed(addInput(function, argument)))
        return failure();
    for (auto parameter : module.getOps<ParameterOp>()) {
      auto type = cast<RankedTensorType>(parameter.getType());
      parameters[parameter.getName()] = randomTensor(type.getShape().vec());
    }
    auto results = evaluate(function.getName());
    if (failed(results))
      return failure();
    bool ok = true;
    for (unsigned i = 1; i < function.getNumResults(); ++i) {
      StringRef name = function.getResultAttrOfType<StringAttr>(i, attr::name).getValue();
      ok &= name.consume_back(".grad");
      auto difference = largestDifference(loss, name, (*results)[i], samples);
      if (failed(difference))
        return failure();
      bool fits = *difference <= bound;
      ok &= fits;
      llvm::outs() << name << ": " << llvm::format("%.1e", *difference) << (fits ? "" : " FAILED")
                   << '\n';
    }
    return success(ok);
  }

private:
  Tensor randomTensor(std::vector<int64_t> shape) {
    Tensor tensor = Tensor::zeros(std::move(shape));
    std::normal_distribution<double> normal;
    for (double &value : tensor.reals())
      value = normal(random);
    return tensor;
  }

  LogicalResult addInput(func::FuncOp function, BlockArgument argument) {
    constexpr int64_t rows = 5;
    if (Attribute value = function.getArgAttr(argument.getArgNumber(), "test.value")) {
      auto tensor = fromAttribute(value);
      inputs.push_back(succeeded(tensor) ? *tensor : Tensor());
      return tensor;
    }
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || !isa<FloatType>(type.getElementType()))
      return emitError(argument.getLoc()) << "expected a test.value";
    std::vector<int64_t> shape;
    for (int64_t size : type.getShape())
      shape.push_back(ShapedType::isDynamic(size) ? rows : size);
    inputs.push_back(randomTensor(shape));
    return success();
  }

  FailureOr<std::vector<Tensor>> evaluate(StringRef name) {
    std::string error;
    auto source = [&](ParameterOp op) -> FailureOr<Tensor> { return parameters[op.getName()]; };
    auto results = reference::run(module, name, inputs, source, error);
    if (failed(results))
      llvm::errs() << "error: @" << name << ": " << error << '\n';
    return results;
  }

  /// Over the largest magnitude of the gradient.
  FailureOr<double> largestDifference(StringRef loss, StringRef name, const Tensor &gradient,
                                      size_t samples) {
    constexpr double step = 1e-5;
    double largest = 0, worst = 0;
    for (double value : gradient.reals())
      largest = std::max(largest, std::abs(value));
    size_t size = gradient.reals().size();
    for (size_t n = 0; n < std::min(samples, size); ++n) {
      size_t i = size <= samples ? n : random() % size;
      double &value = parameters[name].reals()[i], before = value;
      double losses[2];
      for (int side : {0, 1}) {
        value = before + (side ? step : -step);
        auto results = evaluate(loss);
        if (failed(results))
          return failure();
        losses[side] = results->front().reals()[0];
      }
      value = before;
      double expected = (losses[1] - losses[0]) / (2 * step);
      double difference = std::abs(gradient.reals()[i] - expected);
      if (!(difference <= worst)) // NaN, too
        worst = difference;
    }
    return worst / std::max(largest, 1e-3);
  }

  ModuleOp module;
  std::mt19937 random;
  std::vector<Tensor> inputs;
  llvm::StringMap<Tensor> parameters;
};

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::opt<std::string> file(cl::Positional, cl::desc("<input file>"), cl::init("-"));
  cl::opt<std::string> loss("loss", cl::desc("The function of the loss"), cl::init("loss"));
  cl::opt<unsigned> seed("seed", cl::desc("Of random numbers"), cl::init(1));
  cl::opt<unsigned> samples("samples", cl::desc("Numbers of each parameter"), cl::init(24));
  cl::opt<std::string> recompute("recompute", cl::desc("As of transformer-differentiate"),
                                 cl::init("none"));
  cl::opt<double> bound("bound", cl::desc("Largest difference, over the gradient's largest number"),
                        cl::init(1e-6));
  cl::ParseCommandLineOptions(argc, argv, "gradients beside differences of the loss\n");

  DialectRegistry registry;
  registry.insert<TransformerDialect, arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect,
                  tensor::TensorDialect>();
  registerEvaluation(registry);
  registerDifferentiation(registry);
  MLIRContext context(registry);
  context.allowUnregisteredDialects(); // test.value
  OwningOpRef<ModuleOp> module = parseModel(file, &context);
  if (!module)
    return 1;
  PassManager manager(&context);
  manager.addPass(createExpandCompositesPass());
  manager.addPass(createDifferentiatePass({loss, recompute}));
  manager.addPass(createCanonicalizerPass());
  if (failed(manager.run(*module)))
    return 1;
  return failed(Check(*module, seed).run(loss, samples, bound));
}
