//===- Import.cpp - from a model definition to the transformer dialect ----===//
#include "models/Import.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/OperationSupport.h"
#include "models/Adapter.h"
#include "models/Family.h"
#include "models/Registry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::transformer;

void transformer::registerImportDialects(DialectRegistry &registry) {
  registry
      .insert<TransformerDialect, arith::ArithDialect, func::FuncDialect, tensor::TensorDialect>();
}

OpPrintingFlags transformer::importPrintingFlags() {
  return OpPrintingFlags().printNameLocAsPrefix(true);
}

/// The configuration's path: `path` itself, or config.json in it.
static std::string configPath(StringRef path) {
  llvm::SmallString<128> file(path);
  if (llvm::sys::fs::is_directory(path))
    llvm::sys::path::append(file, "config.json");
  return file.str().str();
}

/// The model that is adapted, which knows its adapters.
static FailureOr<OwningOpRef<ModuleOp>> importAdapter(StringRef path, MLIRContext &context,
                                                      std::string &error) {
  context.loadDialect<TransformerDialect>();
  std::optional<AdapterConfig> adapter = loadAdapter(path, context, error);
  if (!adapter)
    return failure();
  if (isAdapter(adapter->base)) {
    error = (path + ": adapts a folder that is an adapter itself, " + adapter->base).str();
    return failure();
  }
  auto module = importModel(adapter->base, context, error);
  if (succeeded(module))
    (**module)->setAttr(attr::lora, adapter->lora);
  return module;
}

FailureOr<OwningOpRef<ModuleOp>> transformer::importModel(StringRef path, MLIRContext &context,
                                                          std::string &error) {
  if (isAdapter(path))
    return importAdapter(path, context, error);
  std::optional<Config> config = Config::load(configPath(path), error);
  if (!config)
    return failure();
  context.loadDialect<TransformerDialect, arith::ArithDialect, func::FuncDialect,
                      linalg::LinalgDialect, tensor::TensorDialect>();

  // What no family supports, whatever its name.
  config->refuseContents({"quantization_config", "pruned_heads"});
  std::optional<FamilyChoice> choice = chooseFamily(*config);
  if (!choice) {
    error = config->error();
    return failure();
  }
  StringRef directory = llvm::sys::path::parent_path(config->file());
  Checkpoint checkpoint = Checkpoint::open(directory.empty() ? "." : directory);
  ModelBuilder model(context, choice->family->modelType);
  Import import{*config, checkpoint, choice->head, model};
  choice->family->build(import);
  if (config->ok()) {
    setObjective(import);
    noteOtherDropping(import);
  }
  if (!config->ok()) {
    error = config->error();
    return failure();
  }
  OwningOpRef<ModuleOp> module = model.finish(error);
  if (!module) {
    error = config->file() + ": the imported module is not valid: " + error;
    return failure();
  }
  return module;
}
