//===- transformer-verify-threads.cpp - are a GPU's kernels right? --------===//
//
// A test tool: transformer-verify, with those of its options that tests need, for the kernels of
// --target cuda: their threads as loops on this CPU, or with that option the program itself, on
// whatever driver the runtime finds.
//
//===----------------------------------------------------------------------===//
#include "codegen/driver/Stages.h"
#include "dialect/ModelText.h"
#include "models/Import.h"
#include "test/lib/ThreadStages.h"
#include "tools/CommandLine.h"
#include "tools/Verify.h"
#include "llvm/Support/InitLLVM.h"

namespace cl = llvm::cl;
using namespace mlir;
using namespace mlir::transformer;

static int fail(const llvm::Twine &message) {
  printError(message.str());
  return 2;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  VerifyOptions options;
  CompileOptions &compile = options.compile;
  compile.arch = "native";
  compile.dtypes.attention = true; // as a GPU does
  auto text = [](llvm::StringRef name, std::string &to) {
    return cl::opt<std::string, true>(name, cl::location(to));
  };
  cl::opt<std::string> input(cl::Positional, cl::Required), weights("weights");
  cl::list<std::string> inputs("inputs", cl::OneOrMore), entries("entry", cl::CommaSeparated);
  cl::opt<double, true> bound("bound", cl::location(options.bound)),
      floor("floor", cl::location(options.floor));
  cl::opt<std::string> target("target", cl::init("threads"));
  auto arch = text("arch", compile.arch), dtype = text("weights-dtype", compile.dtypes.weights),
       activations = text("activations-dtype", compile.dtypes.activations);
  cl::ParseCommandLineOptions(argc, argv, "a GPU's kernels beside the reference interpreter\n");
  DialectRegistry registry;
  registerCodegenDialects(registry);
  registerImportDialects(registry);
  reference::registerEvaluation(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  std::string error = "cannot read " + input;
  OwningOpRef<ModuleOp> module;
  if (StringRef(input).ends_with(".mlir"))
    module = parseModel(input, &context);
  else if (auto imported = importModel(input, context, error); succeeded(imported))
    module = std::move(*imported);
  if (!module)
    return fail(error);
  auto data = RunData::open(weights.empty() ? input : weights, inputs);
  if (!data)
    return fail(llvm::toString(data.takeError()));
  if (!entries.empty())
    options.entries = entries;
  compile.program = argv[0];
  compile.kind = target == "threads" ? &threadsOnCpu() : findTargetKind(target);
  if (!compile.kind)
    return fail("--target " + target + ": expected threads, " + targetNames());
  llvm::Expected<bool> agree = verifyProgram(*module, *data, options, llvm::outs());
  if (!agree)
    return fail(llvm::toString(agree.takeError()));
  return *agree ? 0 : 1;
}
