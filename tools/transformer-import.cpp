//===- transformer-import.cpp - model definition to dialect text ----------===//
#include "dialect/OutputFile.h"
#include "models/Import.h"
#include "tools/CommandLine.h"
#include "llvm/Support/InitLLVM.h"

static constexpr llvm::StringLiteral overview =
    R"(Writes the model definition of a checkpoint as text of the transformer dialect.

Examples:
  transformer-import all-MiniLM-L6-v2 -o model.mlir
  transformer-import config.json | transformer-opt --transformer-to-cpu
)";

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::OptionCategory category("transformer-import options");
  llvm::cl::opt<std::string> input(llvm::cl::Positional, llvm::cl::Required,
                                   llvm::cl::desc("CKPT_DIR|config.json"), llvm::cl::cat(category));
  llvm::cl::opt<std::string> output("o", llvm::cl::desc("output file ('-': standard output)"),
                                    llvm::cl::value_desc("model.mlir"), llvm::cl::init("-"),
                                    llvm::cl::cat(category));
  if (!mlir::transformer::parseCommandLine(argc, argv, category, "transformer-import", overview))
    return 1;

  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::string error;
  auto module = mlir::transformer::importModel(input, context, error);
  if (failed(module))
    return mlir::transformer::printError(error);
  llvm::Error problem = mlir::transformer::writeOutput(output, [&](llvm::raw_ostream &out) {
    (*module)->print(out, mlir::transformer::importPrintingFlags());
    return llvm::Error::success();
  });
  if (problem)
    return mlir::transformer::printError(llvm::toString(std::move(problem)));
  return 0;
}
