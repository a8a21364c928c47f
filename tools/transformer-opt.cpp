//===- transformer-opt.cpp - the standard MLIR driver ---------------------===//
#include "codegen/Pipelines.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "passes/Pipelines.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::transformer::registerCodegenDialects(registry);
  mlir::registerAllPasses();
  mlir::transformer::registerTransformerPasses();
  mlir::transformer::registerCodegenPipelines();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "transformer-mlir optimizer driver\n", registry));
}
