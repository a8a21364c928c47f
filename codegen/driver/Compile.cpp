//===- Compile.cpp - what transformer-compile does ------------------------===//
#include "codegen/driver/Compile.h"
#include "codegen/Target.h"
#include "codegen/cpu/Target.h"
#include "codegen/driver/CheckpointFiles.h"
#include "codegen/driver/EmitObject.h"
#include "codegen/driver/Link.h"
#include "codegen/driver/Stages.h"
#include "codegen/gpu/EmitPtx.h"
#include "codegen/gpu/Pipelines.h"
#include "codegen/module/Description.h"
#include "dialect/ModelText.h"
#include "dialect/OutputFile.h"
#include "dialect/QuantizeOps.h"
#include "dialect/TransformerDialect.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "models/Adapter.h"
#include "models/Import.h"
#include "runtime/abi/ModuleAbi.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace mlir::transformer;
using llvm::createStringError;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

namespace {

/// What --emit asks for, in order: the definition, a stage of the target, a file behind them.
struct Goal {
  const TargetKind *kind;
  size_t stages;  // to run
  StringRef file; // "": the IR behind the last of them
};

llvm::Expected<Goal> goalOf(const CompileOptions &options) {
  const TargetKind *kind = options.kind ? options.kind : findTargetKind(options.target);
  if (!kind)
    return createStringError("--target " + options.target + ": expected " + targetNames());
  std::string emit = options.emit;
  StringRef ending = path::extension(options.output);
  bool isGpuFile = kind->name == "cuda" && (ending == ".ptx" || ending == ".cubin");
  if (emit.empty())
    emit = isGpuFile ? ending.drop_front() : ending == ".so" ? "module" : "exe";
  if (emit == "dialect")
    return Goal{kind, 0, ""};
  for (auto [i, stage] : llvm::enumerate(kind->stages))
    if (stage.name == emit)
      return Goal{kind, i + 1, ""};
  for (StringRef file : kind->files)
    if (file == emit)
      return Goal{kind, kind->stages.size(), file};
  return createStringError("--emit " + emit + ": expected " + listOf(emittable(*kind)));
}

llvm::Error checkOptions(const CompileOptions &options, const Goal &goal) {
  if (llvm::Error error = options.purpose.check())
    return error;
  bool trains = options.purpose.trains();
  if (trains && options.dtypes.weights != "f32")
    return createStringError("--weights-dtype " + options.dtypes.weights +
                             ": expected f32 with --mode train");
  if (trains && options.dtypes.activations == "tf32")
    return createStringError("--activations-dtype tf32: expected --mixed-precision tf32 with "
                             "--mode train");
  if (options.lora && !trains)
    return createStringError("--lora goes with --mode train; an adapter's folder is compiled "
                             "without it");
  if (llvm::Error error = options.dtypes.check())
    return error;
  StringRef directory = path::parent_path(options.output);
  if (options.output != "-" && !directory.empty() && !fs::is_directory(directory))
    return createStringError("-o " + options.output + ": there is no directory " + directory);
  bool writesProgram = goal.file == "exe" || goal.file == "module";
  if (fs::is_directory(options.output))
    return createStringError("-o " + options.output + ": expected a file, found a directory");
  if (writesProgram && (options.output == "-" ||
                        (fs::exists(options.output) && !fs::is_regular_file(options.output))))
    return createStringError("-o " + options.output + ": a program is written to a file only");
  if (options.embedWeights && !writesProgram)
    return createStringError("--embed-weights: expected --emit exe or module, found " +
                             options.emit);
  // A pipe would be waited for.
  if (!fs::is_directory(options.input) && !fs::is_regular_file(options.input))
    return createStringError(
        options.input + ": expected a checkpoint directory, a config.json or a .mlir file, found " +
        (fs::exists(options.input) ? "something else" : "nothing"));
  return llvm::Error::success();
}

/// Whether the CPU multiplies the numbers that are asked for.
llvm::Error checkNumbers(const CompileOptions &options, cpu::TargetAttr target) {
  bool mixed = options.purpose.mixedPrecision != "no";
  const std::string &dtypes = mixed ? options.purpose.mixedPrecision : options.dtypes.activations;
  std::string option = (mixed ? "--mixed-precision " : "--activations-dtype ") + dtypes + ": ";
  if (dtypes == "bf16" && !target.multipliesBfloat16())
    return createStringError(option + options.arch +
                             " has no products of bfloat16 (expected the CPU feature avx512bf16)");
  if (dtypes == "f16" || dtypes == "tf32")
    return createStringError(option + "such products are a GPU's (expected --target cuda)");
  if (options.dtypes.weights == "f16")
    return createStringError("--weights-dtype f16: expected f32, bf16, int8 or int4 on a CPU");
  return llvm::Error::success();
}

/// Collects diagnostics as text, to report them as one error.
class DiagnosticText {
public:
  explicit DiagnosticText(MLIRContext &context)
      : handler(&context, [this](Diagnostic &diagnostic) {
          if (text.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
            llvm::raw_string_ostream(text) << diagnostic.getLocation() << ": " << diagnostic;
          return success();
        }) {}
  llvm::Error error(StringRef what) const {
    std::string first = StringRef(text).split('\n').first.str();
    return createStringError(what + (first.empty() ? "" : ": " + first));
  }

private:
  std::string text;
  ScopedDiagnosticHandler handler;
};

/// What keeps a function from being an entry point of a program; else empty.
std::string entryProblem(Operation &op) {
  auto entry = dyn_cast<func::FuncOp>(op);
  if (!entry)
    return ("transformer.entry: expected a func.func, found " + op.getName().getStringRef()).str();
  std::string name = "entry point @" + entry.getName().str() + ": ";
  if (entry.isDeclaration() || entry.getNumResults() == 0)
    return name + "expected a body that returns at least one tensor";
  auto problem = [&](StringRef what, TypeRange types) -> std::string {
    for (auto [i, type] : llvm::enumerate(types)) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor || tensor.getRank() > TR_MAX_RANK || !dtypeName(tensor.getElementType()))
        return llvm::formatv("{0}{1} {2}: expected a tensor of floats, i1, i8, i16, i32 or i64 of "
                             "rank {3} at most, found {4}",
                             name, what, i, TR_MAX_RANK, type);
    }
    return "";
  };
  if (std::string found = problem("argument", entry.getArgumentTypes()); !found.empty())
    return found;
  return problem("result", entry.getResultTypes());
}

llvm::Expected<OwningOpRef<ModuleOp>> load(const std::string &input, MLIRContext &context) {
  if (path::extension(input) == ".mlir" || path::extension(input) == ".mlirbc") {
    DiagnosticText diagnostics(context);
    OwningOpRef<ModuleOp> module = parseModel(input, &context);
    if (!module)
      return diagnostics.error(input);
    bool anyEntry = false;
    for (Operation &op : *module->getBody()) {
      if (!op.hasAttr(attr::entry))
        continue;
      anyEntry = true;
      if (std::string problem = entryProblem(op); !problem.empty())
        return createStringError(input + ": " + problem);
    }
    if (!anyEntry)
      return createStringError(input +
                               ": expected a function with the attribute transformer.entry");
    return module;
  }
  std::string error;
  FailureOr<OwningOpRef<ModuleOp>> module = importModel(input, context, error);
  if (failed(module))
    return createStringError(error);
  return std::move(*module);
}

/// Gives the module the adapters of the command line.
llvm::Error addLora(ModuleOp module, const Lora &lora) {
  if (module->hasAttr(attr::lora))
    return createStringError(
        "--lora: the model has adapters of its own, which --mode train trains");
  MLIRContext *context = module.getContext();
  auto targets = llvm::map_to_vector(
      lora.targets, [&](const std::string &name) { return StringAttr::get(context, name); });
  DiagnosticText diagnostics(*context);
  auto attribute = LoraAttr::getChecked([&] { return module.emitError(); }, context, lora.rank,
                                        lora.alpha, lora.dropout, ArrayRef<StringAttr>(targets));
  if (!attribute)
    return diagnostics.error("--lora");
  module->setAttr(attr::lora, attribute);
  return llvm::Error::success();
}

struct VerifyPass : PassWrapper<VerifyPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(VerifyPass)
  StringRef getName() const override { return "Verify"; }
  void runOnOperation() override {
    if (failed(mlir::verify(getOperation())))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

/// Runs the target's stages up to the goal.
llvm::Error lower(ModuleOp module, const Goal &goal, const CompileOptions &options,
                  TimingScope &timing) {
  PassManager manager(module.getContext());
  TimingScope scope = timing.nest("MLIR passes");
  manager.enableTiming(scope);
#ifdef NDEBUG // else always
  manager.enableVerifier(options.verifyEach);
#endif
  for (const Stage &stage : goal.kind->stages.take_front(goal.stages)) {
    stage.build(manager, {options.arch, options.dtypes, options.purpose});
    if (options.verifyStages)
      manager.addPass(std::make_unique<VerifyPass>());
  }
  DiagnosticText diagnostics(*module.getContext());
  if (failed(manager.run(module)))
    return diagnostics.error("compiling " + options.input + " failed");
  return llvm::Error::success();
}

/// Where libtransformer_runtime*.a are: beside the tools, as built or installed.
std::string runtimeDirectory(const std::string &program) {
  std::string tool = fs::getMainExecutable(program.c_str(), reinterpret_cast<void *>(&compile));
  llvm::SmallString<128> base(path::parent_path(path::parent_path(tool)));
  for (StringRef candidate : {"runtime", "lib/transformer"}) {
    llvm::SmallString<128> directory(base);
    path::append(directory, candidate);
    if (fs::exists(directory + "/libtransformer_runtime.a"))
      return directory.str().str();
  }
  return base.str().str();
}

/// The weights beside the model definition, for --embed-weights.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readWeights(StringRef input) {
  if (isAdapter(input))
    return createStringError("--embed-weights: " + input +
                             " is an adapter, whose weights lie in two folders");
  llvm::SmallString<128> file(fs::is_directory(input) ? input : path::parent_path(input));
  path::append(file, "model.safetensors");
  if (fs::exists(file) && !fs::is_regular_file(file)) // a pipe would be waited for
    return createStringError("--embed-weights: " + file + ": not a regular file");
  auto weights = llvm::MemoryBuffer::getFile(file, false, /*RequiresNullTerminator=*/false);
  if (!weights)
    return createStringError("--embed-weights: cannot read " + file + ": " +
                             weights.getError().message());
  return std::move(*weights);
}

/// Writes the weights and the trailer that the runtime looks for behind `size` bytes of a program.
void appendWeights(llvm::raw_ostream &out, uint64_t size, const llvm::MemoryBuffer &weights) {
  uint64_t offset = llvm::alignTo(size, 4096);
  uint64_t length = weights.getBufferSize();
  out.write_zeros(offset - size);
  out << weights.getBuffer() << "TRWEIGHT";
  out.write(reinterpret_cast<const char *>(&offset), 8);
  out.write(reinterpret_cast<const char *>(&length), 8);
}

/// Links `objects` to a program or module at the output.
llvm::Error writeProgram(ArrayRef<MachineCode> objects, const CompileOptions &options,
                         cpu::TargetAttr target, bool shared, const llvm::MemoryBuffer *weights) {
  std::vector<TemporaryFile> files;
  std::vector<std::string> paths;
  for (const MachineCode &object : objects) {
    auto file = TemporaryFile::create("transformer-compile", "o");
    if (!file)
      return file.takeError();
    paths.push_back(file->path().str());
    files.push_back(std::move(*file));
    if (llvm::Error error = writeOutput(paths.back(), [&](llvm::raw_ostream &out) {
          out.write(object.data(), object.size());
          return llvm::Error::success();
        }))
      return error;
  }
  auto program =
      linkProgram(paths, options.output, target, shared, runtimeDirectory(options.program));
  if (!program)
    return program.takeError();
  return writeOutput(
      options.output,
      [&](llvm::raw_ostream &out) {
        out << (*program)->getBuffer();
        if (weights)
          appendWeights(out, (*program)->getBufferSize(), *weights);
        return llvm::Error::success();
      },
      /*executable=*/true);
}

/// Emits code to a file: assembly, an object.
llvm::Error writeCode(const std::string &output, llvm::Module &ir, cpu::TargetAttr target,
                      llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> code;
  llvm::raw_svector_ostream stream(code);
  if (llvm::Error error = emitCode(ir, target, type, stream))
    return error;
  return writeOutput(output, [&](llvm::raw_ostream &out) {
    out << stream.str();
    return llvm::Error::success();
  });
}

/// From the LLVM dialect to a file of `goal`.
llvm::Error writeCpu(ModuleOp module, const Goal &goal, const CompileOptions &options,
                     cpu::TargetAttr target, const llvm::MemoryBuffer *weights,
                     TimingScope &timing) {
  llvm::LLVMContext context;
  TimingScope translation = timing.nest("Translate to LLVM IR");
  auto ir = toLlvmIr(module, target, context);
  if (!ir)
    return ir.takeError();
  translation.stop();
  TimingScope code = timing.nest("Optimize and emit code");
  if (goal.file == "exe" || goal.file == "module") {
    auto objects = emitObjects(**ir, target);
    if (!objects)
      return objects.takeError();
    code.stop();
    TimingScope link = timing.nest("Link");
    return writeProgram(*objects, options, target, goal.file == "module", weights);
  }
  if (llvm::Error error = optimize(**ir, target))
    return error;
  if (goal.file == "llvm-ir")
    return writeOutput(options.output, [&](llvm::raw_ostream &out) {
      (*ir)->print(out, nullptr);
      return llvm::Error::success();
    });
  return writeCode(options.output, **ir, target,
                   goal.file == "asm" ? llvm::CodeGenFileType::AssemblyFile
                                      : llvm::CodeGenFileType::ObjectFile);
}

/// Of what a program does beside its kernels: every machine with a GPU has it.
StringRef hostArch() {
  return llvm::Triple(llvm::sys::getDefaultTargetTriple()).isAArch64() ? "aarch64" : "x86-64-v2";
}

/// From NVVM to a file of `goal`: PTX, machine code, or a program that holds both.
llvm::Error writeGpu(ModuleOp module, const Goal &goal, const CompileOptions &options,
                     const llvm::MemoryBuffer *weights, TimingScope &timing) {
  auto run = [&](auto build) -> llvm::Error {
    PassManager manager(module.getContext());
    build(manager);
    DiagnosticText diagnostics(*module.getContext());
    if (failed(manager.run(module)))
      return diagnostics.error("compiling " + options.input + " failed");
    return llvm::Error::success();
  };
  auto write = [&](StringRef bytes) {
    return writeOutput(options.output, [&](llvm::raw_ostream &out) {
      out << bytes;
      return llvm::Error::success();
    });
  };
  TimingScope code = timing.nest("PTX");
  auto ptx = [&]() -> llvm::Expected<std::string> {
    DiagnosticText diagnostics(*module.getContext());
    llvm::Expected<std::string> made = emitPtx(module);
    if (made)
      return made;
    return diagnostics.error("compiling " + options.input +
                             " failed: " + llvm::toString(made.takeError()));
  }();
  if (!ptx)
    return ptx.takeError();
  if (goal.file == "ptx")
    return write(*ptx);
  code.stop();
  TimingScope assembling = timing.nest("ptxas");
  std::unique_ptr<llvm::MemoryBuffer> cubin;
  std::string missing = "ptxas was not found in PATH, CUDA_HOME or /usr/local/cuda";
  if (std::optional<std::string> ptxas = findPtxas()) {
    auto assembled = assemblePtx(*ptxas, *ptx, options.arch);
    if (!assembled)
      return assembled.takeError();
    cubin = std::move(*assembled);
  } else if (goal.file == "cubin") {
    return createStringError("--emit cubin: " + missing + "; --emit ptx needs none");
  } else {
    llvm::errs() << "note: " << missing << ": " << options.output
                 << " holds PTX alone, which the driver compiles at each start\n";
  }
  if (goal.file == "cubin")
    return write(cubin->getBuffer());
  assembling.stop();
  TimingScope host = timing.nest("Host functions");
  auto target = cpuTarget(module.getContext(), hostArch());
  if (!target)
    return target.takeError();
  embedKernels(module, *ptx, cubin ? cubin->getBuffer() : "");
  module->setAttr(kHostTargetAttr, *target);
  if (llvm::Error error = run(buildGpuHostPipeline))
    return error;
  host.stop();
  return writeCpu(module, goal, options, *target, weights, timing);
}

} // namespace

llvm::Error mlir::transformer::compile(const CompileOptions &given) {
  llvm::Expected<Goal> goal = goalOf(given);
  if (!goal)
    return goal.takeError();
  CompileOptions options = given;
  if (options.arch.empty())
    options.arch = goal->kind->defaultArch.str();
  if (llvm::Error error = checkOptions(options, *goal))
    return error;
  DefaultTimingManager manager;
  manager.setEnabled(options.timing);
  TimingScope timing = manager.getRootScope();
  TimingScope start = timing.nest("Dialects and model definition");
  DialectRegistry registry;
  registerCodegenDialects(registry);
  registerImportDialects(registry);
  MLIRContext context(registry);
  cpu::TargetAttr target;
  if (goal->kind->name == "cpu") {
    auto found = cpuTarget(&context, options.arch);
    if (!found)
      return found.takeError();
    target = *found;
    if (!options.kind) // stages of the caller's own need not multiply as the target does
      if (llvm::Error error = checkNumbers(options, target))
        return error;
  }
  std::unique_ptr<llvm::MemoryBuffer> weights;
  if (options.embedWeights) {
    auto read = readWeights(options.input);
    if (!read)
      return read.takeError();
    weights = std::move(*read);
  }
  context.loadAllAvailableDialects();
  auto module = load(options.input, context);
  if (!module)
    return module.takeError();
  if (options.lora)
    if (llvm::Error error = addLora(**module, *options.lora))
      return error;
  if (!goal->file.empty()) {
    attachCheckpointFiles(**module, options.input);
    if (isAdapter(options.input))
      attachCheckpointFiles(**module, baseOf(options.input));
  }
  start.stop();
  if (llvm::Error error = lower(**module, *goal, options, timing))
    return error;
  if (goal->file.empty())
    return writeOutput(options.output, [&](llvm::raw_ostream &out) {
      (*module)->print(out);
      return llvm::Error::success();
    });
  if (goal->kind->name == "cpu")
    return writeCpu(**module, *goal, options, target, weights.get(), timing);
  return writeGpu(**module, *goal, options, weights.get(), timing);
}
