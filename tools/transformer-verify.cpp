//===- transformer-verify.cpp - is the compiled program right? ------------===//
#include "codegen/driver/Stages.h"
#include "dialect/ModelText.h"
#include "dialect/QuantizeOps.h"
#include "models/Import.h"
#include "tools/CommandLine.h"
#include "tools/Verify.h"
#include "llvm/Support/InitLLVM.h"

namespace cl = llvm::cl;
using namespace mlir;
using namespace mlir::transformer;

static cl::OptionCategory category("transformer-verify options");
static cl::opt<std::string> input(cl::Positional,
                                  cl::desc("<checkpoint directory | config.json | model.mlir>"),
                                  cl::Required, cl::cat(category));
static cl::opt<std::string>
    weights("weights", cl::desc("Weights (default: the checkpoint directory)"), cl::cat(category));
static cl::list<std::string> inputs("inputs", cl::desc("A safetensors file, or name=FILE.npy"),
                                    cl::OneOrMore, cl::cat(category));
static cl::list<std::string> entries("entry", cl::desc("Entry points (default: forward)"),
                                     cl::CommaSeparated, cl::cat(category));
static cl::opt<double> bound("bound",
                             cl::desc("Largest error, over the tensor's largest magnitude"),
                             cl::init(1e-4), cl::cat(category));

static cl::opt<double>
    errorFloor("floor",
               cl::desc("Error that counts as none, over the largest magnitude of all outputs"),
               cl::init(0), cl::cat(category));

static cl::opt<std::string> arch("arch", cl::desc("As --arch of transformer-compile"),
                                 cl::init("native"), cl::cat(category));

static cl::opt<std::string> dtype("weights-dtype",
                                  cl::desc("As --weights-dtype of transformer-compile"),
                                  cl::init("f32"), cl::cat(category));

static cl::opt<std::string> activations("activations-dtype",
                                        cl::desc("As --activations-dtype of transformer-compile"),
                                        cl::init("f32"), cl::cat(category));

static int fail(const llvm::Twine &message) {
  printError(message.str());
  return 2;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  constexpr llvm::StringLiteral overview =
      "Runs the compiled program beside the reference interpreter and names "
      "the first layer and op that differ.\nExit code: 0 they agree, 1 they "
      "differ, 2 something failed.\n";
  if (!parseCommandLine(argc, argv, category, "transformer-verify", overview))
    return 2;
  LinearDtypes dtypes{dtype, activations};
  if (llvm::Error error = dtypes.check())
    return fail(llvm::toString(std::move(error)));
  DialectRegistry registry;
  registerCodegenDialects(registry);
  registerImportDialects(registry);
  reference::registerEvaluation(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  bool isText = StringRef(input).ends_with(".mlir");
  std::string error = "cannot read " + input;
  OwningOpRef<ModuleOp> module;
  if (isText)
    module = parseModel(input, &context);
  else if (auto imported = importModel(input, context, error); succeeded(imported))
    module = std::move(*imported);
  if (!module)
    return fail(error);
  if (weights.empty() && isText)
    return fail("--weights is needed with a .mlir file");
  auto data = RunData::open(weights.empty() ? input : weights, inputs);
  if (!data)
    return fail(llvm::toString(data.takeError()));
  VerifyOptions options;
  if (!entries.empty())
    options.entries = entries;
  options.bound = bound;
  options.floor = errorFloor;
  options.compile.arch = arch;
  options.compile.dtypes = dtypes;
  options.compile.program = argv[0];
  llvm::Expected<bool> agree = verifyProgram(*module, *data, options, llvm::outs());
  if (!agree)
    return fail(llvm::toString(agree.takeError()));
  return *agree ? 0 : 1;
}
