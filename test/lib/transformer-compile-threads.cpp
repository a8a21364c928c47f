//===- transformer-compile-threads.cpp - GPU code that runs on this CPU ---===//
//
// A test tool: transformer-compile, with those of its options that tests need, for the kernels of
// --target cuda as loops on this CPU.
//
//===----------------------------------------------------------------------===//
#include "codegen/driver/Compile.h"
#include "test/lib/ThreadStages.h"
#include "tools/CommandLine.h"
#include "llvm/Support/InitLLVM.h"

namespace cl = llvm::cl;

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  mlir::transformer::CompileOptions options;
  auto text = [](llvm::StringRef name, std::string &to) {
    return cl::opt<std::string, true>(name, cl::location(to));
  };
  cl::opt<std::string, true> input(cl::Positional, cl::location(options.input), cl::Required);
  auto output = text("o", options.output), arch = text("arch", options.arch),
       emit = text("emit", options.emit), mode = text("mode", options.purpose.mode),
       recompute = text("recompute", options.purpose.recompute),
       dropout = text("dropout", options.purpose.dropout),
       optimizer = text("optimizer", options.purpose.optimizer),
       precision = text("mixed-precision", options.purpose.mixedPrecision),
       weights = text("weights-dtype", options.dtypes.weights),
       activations = text("activations-dtype", options.dtypes.activations);
  cl::list<std::string> frozen("freeze", cl::CommaSeparated);
  cl::opt<bool, true> accumulate("accumulate", cl::location(options.purpose.accumulate)),
      verifyStages("verify-stages", cl::location(options.verifyStages)),
      verifyEach("verify-each", cl::location(options.verifyEach));
  cl::opt<int64_t> rank("lora");
  cl::list<std::string> targets("lora-targets", cl::CommaSeparated);
  cl::ParseCommandLineOptions(argc, argv, "a GPU's kernels as a program for this CPU\n");
  options.purpose.frozen = frozen;
  if (rank.getNumOccurrences())
    options.lora = {rank, 8, 0, targets};
  options.program = argv[0];
  options.kind = &mlir::transformer::threadsOnCpu();
  if (llvm::Error error = mlir::transformer::compile(options))
    return mlir::transformer::printError(llvm::toString(std::move(error)));
  return 0;
}
