//===- transformer-opt.cpp - the standard MLIR driver ---------------------===//
#include "codegen/driver/Stages.h"
#include "dialect/DifferentiateInterface.h"
#include "dialect/ModelText.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "passes/Pipelines.h"
#include "tools/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace mlir::transformer;

/// What MlirOptMain does, with a look at the text before it is parsed.
static LogicalResult run(int argc, char **argv, DialectRegistry &registry) {
  auto [input, output] =
      registerAndParseCLIOptions(argc, argv, "transformer-mlir optimizer driver\n", registry);
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return MlirOptMain(argc, argv, input, output, registry);
  llvm::InitLLVM init(argc, argv);
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(input, &error);
  std::unique_ptr<llvm::ToolOutputFile> out = file ? openOutputFile(output, &error) : nullptr;
  if (!out) {
    llvm::errs() << error << "\n";
    return failure();
  }
  MLIRContext context(MLIRContext::Threading::DISABLED); // for a diagnostic
  if (failed(checkText(*file, &context)) ||
      failed(MlirOptMain(out->os(), std::move(file), registry, config)))
    return failure();
  out->keep();
  return success();
}

int main(int argc, char **argv) {
  printVersionOf("transformer-opt");
  DialectRegistry registry;
  registerCodegenDialects(registry);
  registerDifferentiation(registry);
  registerAllPasses();
  registerTransformerPasses();
  registerCodegenPipelines();
  return asMainReturnCode(run(argc, argv, registry));
}
