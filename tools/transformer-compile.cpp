//===- transformer-compile.cpp - a model definition to a native program ---===//
#include "codegen/driver/Compile.h"
#include "codegen/driver/Stages.h"
#include "tools/CommandLine.h"
#include "llvm/Support/InitLLVM.h"

namespace cl = llvm::cl;
using mlir::transformer::CompileOptions;

static cl::OptionCategory category("transformer-compile options");
static cl::opt<std::string> input(cl::Positional,
                                  cl::desc("<checkpoint directory | config.json | model.mlir>"),
                                  cl::cat(category));
static cl::opt<std::string> output("o",
                                   cl::desc("Output: an executable, or a module if it ends in .so"),
                                   cl::value_desc("file"), cl::cat(category));
static const std::string targetHelp = mlir::transformer::targetNames(); // options keep no copy
static const std::string emitHelp = mlir::transformer::emitHelp();
static cl::opt<std::string> target("target", cl::desc(targetHelp), cl::init("cpu"),
                                   cl::cat(category));
static cl::opt<std::string>
    arch("arch",
         cl::desc("native, x86-64, x86-64-v2, x86-64-v3, x86-64-v4, an x86-64 CPU's name, aarch64; "
                  "behind it /native: with tiles for this machine's caches; /winograd or "
                  "/no-winograd: whether linear layers use Winograd's inner product (else: where "
                  "it is faster). cuda: sm_80, sm_90a (default: native, sm_90a)"),
         cl::cat(category));
static cl::opt<std::string> mode("mode", cl::desc("inference, or train: a program that trains"),
                                 cl::init("inference"), cl::cat(category));
static cl::opt<std::string>
    recompute("recompute",
              cl::desc("With --mode train, what the backward computes again instead of keeping it: "
                       "none, attention (its results), or layer (all of a layer but its input: "
                       "the least memory)"),
              cl::init("none"), cl::cat(category));
static cl::opt<std::string>
    dropout("dropout",
            cl::desc("With --mode train, a rate in place of the model definition's, where it has "
                     "dropout: 0 for none"),
            cl::value_desc("rate"), cl::cat(category));
static cl::list<std::string>
    freeze("freeze", cl::CommaSeparated,
           cl::desc("With --mode train, globs of parameters that are not trained"),
           cl::value_desc("PATTERN,.."), cl::cat(category));
static cl::opt<int64_t>
    lora("lora",
         cl::desc("With --mode train, train low-rank adapters of this rank (LoRA) alone, of the "
                  "linear layers that --lora-targets names"),
         cl::value_desc("rank"), cl::cat(category));
static cl::list<std::string>
    loraTargets("lora-targets", cl::CommaSeparated,
                cl::desc("Ends of modules' names, as PEFT's target_modules: q_proj,v_proj"),
                cl::value_desc("NAME,.."), cl::cat(category));
static cl::opt<double> loraAlpha("lora-alpha",
                                 cl::desc("Adapters count alpha / rank times (default: 8)"),
                                 cl::init(8), cl::value_desc("alpha"), cl::cat(category));
static cl::opt<double> loraDropout("lora-dropout",
                                   cl::desc("Rate at which the input of adapters is dropped"),
                                   cl::value_desc("rate"), cl::cat(category));
static cl::opt<bool> accumulate(
    "accumulate",
    cl::desc("With --mode train, a program that can divide its steps: train --accumulate "
             "N, and mpirun"),
    cl::cat(category));
static cl::opt<std::string> optimizer(
    "optimizer",
    cl::desc("With --mode train, what makes steps of gradients: adamw, sgd (with momentum) "
             "or adafactor (keeps sums of rows and columns alone: less memory)"),
    cl::init("adamw"), cl::cat(category));
static cl::opt<std::string> precision(
    "mixed-precision",
    cl::desc(
        "With --mode train, what the products of linear layers and of their gradients "
        "multiply: no (float32), bf16, f16 or tf32 (rounded to it, summed in float32; weights, "
        "gradients and all else stay float32); bf16 for CPUs with AVX-512 BF16 and GPUs, f16 "
        "and tf32 for GPUs"),
    cl::init("no"), cl::cat(category));
static cl::opt<std::string> dtype(
    "weights-dtype",
    cl::desc("What linear layers keep their weights in: f32, bf16, f16 (on GPUs), int8 (a scale "
             "for each output) or int4 (a scale for each 32 inputs of an output); rounded when a "
             "program starts, multiplied in float32"),
    cl::init("f32"), cl::cat(category));
static cl::opt<std::string> activations(
    "activations-dtype",
    cl::desc("How linear layers, and with bf16 and f16 attention where the target has units for "
             "it, read their rows: f32; with weights of int8 or int4 also int8 (integers with a "
             "scale for each 32 features of a row), with weights of bf16 also bf16 (on CPUs with "
             "AVX-512 BF16 and GPUs), of f16 also f16 (on GPUs), of f32 also tf32 (on GPUs; rounds "
             "both), multiplied as such: faster, less exact"),
    cl::init("f32"), cl::cat(category));
static cl::opt<std::string> emit("emit", cl::desc(emitHelp), cl::cat(category));
static cl::opt<bool> embedWeights("embed-weights",
                                  cl::desc("Append the checkpoint's weights to the output"),
                                  cl::cat(category));
static cl::opt<bool> timing("timing", cl::desc("Print what each stage takes"), cl::cat(category));
static cl::opt<bool> verifyStages("verify-stages",
                                  cl::desc("Verify the IR after each stage that --emit names"),
                                  cl::cat(category)),
    verifyEach("verify-each", cl::desc("Verify the IR after every pass"), cl::cat(category));

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  constexpr llvm::StringLiteral overview =
      "Compiles a Transformer model definition to a native program.\n\n"
      "Examples:\n"
      "  transformer-compile all-MiniLM-L6-v2/ -o minilm\n"
      "  transformer-compile config.json -o bert.so --arch x86-64-v3\n"
      "  transformer-compile gpt2/ -o train --mode train --lora 8 --lora-targets c_attn\n"
      "  transformer-compile model.mlir -o - --emit linalg\n"
      "  transformer-compile model.mlir -o kernels.ptx --target cuda --arch sm_80\n";
  if (!mlir::transformer::parseCommandLine(argc, argv, category, "transformer-compile", overview))
    return 1;
  if (input.empty() || output.empty())
    return mlir::transformer::printError(
        "expected a model definition and -o OUTPUT; try transformer-compile --help");
  CompileOptions options{input,
                         output,
                         target,
                         arch,
                         {mode, recompute, dropout, freeze, optimizer, accumulate, precision},
                         std::nullopt,
                         {dtype, activations},
                         emit,
                         embedWeights,
                         timing,
                         verifyStages,
                         verifyEach,
                         argv[0]};
  if (lora.getNumOccurrences())
    options.lora = {lora, loraAlpha, loraDropout, loraTargets};
  else if (!loraTargets.empty() || loraAlpha.getNumOccurrences() || loraDropout.getNumOccurrences())
    return mlir::transformer::printError("--lora-targets, --lora-alpha and --lora-dropout go with "
                                         "--lora");
  if (llvm::Error error = mlir::transformer::compile(options))
    return mlir::transformer::printError(llvm::toString(std::move(error)));
  return 0;
}
