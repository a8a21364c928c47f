//===- transformer-lsp-server.cpp - the dialects in an editor -------------===//
#include "codegen/kernels/KernelDialect.h"
#include "dialect/TransformerDialect.h"
#include "mlir/InitAllDialects.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "tools/CommandLine.h"

int main(int argc, char **argv) {
  mlir::transformer::printVersionOf("transformer-lsp-server");
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  registry
      .insert<mlir::transformer::TransformerDialect, mlir::transformer::kernel::KernelDialect>();
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
