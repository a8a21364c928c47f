//===- Compile.cpp - what transformer-compile does ------------------------===//
#include "codegen/Compile.h"
#include "codegen/EmitObject.h"
#include "codegen/Link.h"
#include "codegen/Pipelines.h"
#include "dialect/TransformerDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "models/Import.h"
#include "passes/Pipelines.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"
#include <chrono>

using namespace mlir;
using namespace mlir::transformer;
using llvm::createStringError;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

namespace {

/// The stages that --emit can stop at, in order.
enum class Stage { Dialect, Fused, Linalg, Tiled, Buffers, Llvm, LlvmIr, Asm, Object, Exe, Module };

llvm::Expected<Stage> stageOf(const CompileOptions &options) {
  if (options.emit.empty())
    return path::extension(options.output) == ".so" ? Stage::Module : Stage::Exe;
  static constexpr const char *names[] = {"dialect", "fused",   "linalg", "tiled",  "buffers", "llvm",
                                          "llvm-ir", "asm",     "object", "exe",    "module"};
  for (auto [i, name] : llvm::enumerate(names))
    if (options.emit == name)
      return static_cast<Stage>(i);
  return createStringError("--emit " + options.emit +
                           ": expected dialect, fused, linalg, tiled, buffers, llvm, llvm-ir, asm, "
                           "object, exe or module");
}

llvm::Error checkOptions(const CompileOptions &options) {
  auto only = [&](StringRef option, StringRef value, StringRef supported) -> llvm::Error {
    if (value == supported)
      return llvm::Error::success();
    return createStringError("--" + option + " " + value + ": expected " + supported +
                             " (others are not supported yet)");
  };
  if (llvm::Error error = only("target", options.target, "cpu"))
    return error;
  if (llvm::Error error = only("mode", options.mode, "inference"))
    return error;
  if (llvm::Error error = only("weights-dtype", options.weightsDtype, "f32"))
    return error;
  if (options.output != "-" && !fs::exists(path::parent_path(options.output).empty()
                                               ? "."
                                               : path::parent_path(options.output)))
    return createStringError("-o " + options.output + ": directory " +
                             path::parent_path(options.output) + " does not exist");
  if (!fs::exists(options.input))
    return createStringError(options.input +
                             ": expected a checkpoint directory, a config.json or a .mlir file, "
                             "found nothing");
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

llvm::Expected<OwningOpRef<ModuleOp>> load(const std::string &input, MLIRContext &context) {
  if (path::extension(input) == ".mlir" || path::extension(input) == ".mlirbc") {
    DiagnosticText diagnostics(context);
    OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(input, &context);
    if (!module)
      return diagnostics.error(input);
    bool anyEntry = false;
    for (Operation &op : *module->getBody())
      anyEntry |= op.hasAttr(attr::entry);
    if (!anyEntry)
      return createStringError(input + ": expected a function with the attribute transformer.entry");
    return module;
  }
  std::string error;
  FailureOr<OwningOpRef<ModuleOp>> module = importModel(input, context, error);
  if (failed(module))
    return createStringError(error);
  return std::move(*module);
}

/// The checkpoint's tokenizer travels with the program.
void attachTokenizer(ModuleOp module, StringRef directory) {
  if (!fs::is_directory(directory) || module->hasAttr(attr::tokenizer))
    return;
  llvm::SmallString<128> file(directory);
  path::append(file, "tokenizer.json");
  if (auto text = llvm::MemoryBuffer::getFile(file, /*IsText=*/true))
    module->setAttr(attr::tokenizer,
                    StringAttr::get(module.getContext(), (*text)->getBuffer()));
}

/// Runs the pipelines up to and with `last`.
llvm::Error lower(ModuleOp module, Stage last, const CpuTarget &target,
                  const CompileOptions &options) {
  PassManager manager(module.getContext());
  DefaultTimingManager timing;
  timing.setEnabled(options.timing);
  TimingScope scope = timing.getRootScope();
  manager.enableTiming(scope);
#ifdef NDEBUG
  manager.enableVerifier(false);
#endif
  if (last >= Stage::Fused)
    buildFusionPipeline(manager);
  if (last >= Stage::Linalg)
    buildLinalgPipeline(manager, target);
  if (last >= Stage::Tiled)
    buildCpuTilePipeline(manager, target);
  if (last >= Stage::Buffers)
    buildCpuBufferPipeline(manager, target);
  if (last >= Stage::Llvm)
    buildCpuLlvmPipeline(manager, target);
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

/// Appends the weights and the trailer that the runtime looks for.
llvm::Error appendWeights(const std::string &program, StringRef checkpoint) {
  llvm::SmallString<128> file(checkpoint);
  if (fs::is_directory(checkpoint))
    path::append(file, "model.safetensors");
  auto weights = llvm::MemoryBuffer::getFile(file, false, /*RequiresNullTerminator=*/false);
  if (!weights)
    return createStringError(weights.getError(), "--embed-weights: cannot read " + file);
  uint64_t size;
  if (std::error_code code = fs::file_size(program, size))
    return createStringError(code, "cannot read " + program);
  uint64_t offset = llvm::alignTo(size, 4096);
  std::error_code code;
  llvm::raw_fd_ostream out(program, code, fs::CD_OpenExisting, fs::FA_Write, fs::OF_Append);
  if (code)
    return createStringError(code, "cannot append to " + program);
  out.write_zeros(offset - size);
  out << (*weights)->getBuffer();
  uint64_t length = (*weights)->getBufferSize();
  out << "TRWEIGHT";
  out.write(reinterpret_cast<const char *>(&offset), 8);
  out.write(reinterpret_cast<const char *>(&length), 8);
  out.close();
  if (out.has_error())
    return createStringError(out.error(), "cannot append to " + program);
  return llvm::Error::success();
}

llvm::Error writeFile(const std::string &output,
                      llvm::function_ref<llvm::Error(llvm::raw_pwrite_stream &)> write) {
  llvm::SmallVector<char, 0> buffer;
  llvm::raw_svector_ostream text(buffer);
  if (llvm::Error error = write(text))
    return error;
  std::error_code code;
  llvm::ToolOutputFile file(output, code, fs::OF_None);
  if (code)
    return createStringError(code, "cannot write " + output);
  file.os() << text.str();
  file.keep();
  return llvm::Error::success();
}

} // namespace

llvm::Error mlir::transformer::compile(const CompileOptions &options) {
  if (llvm::Error error = checkOptions(options))
    return error;
  llvm::Expected<Stage> stage = stageOf(options);
  if (!stage)
    return stage.takeError();
  llvm::Expected<CpuTarget> target = cpuTarget(options.arch);
  if (!target)
    return target.takeError();

  DialectRegistry registry;
  registerCodegenDialects(registry);
  registerImportDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto module = load(options.input, context);
  if (!module)
    return module.takeError();
  if (*stage >= Stage::LlvmIr)
    attachTokenizer(**module, options.input);
  if (llvm::Error error = lower(**module, *stage, *target, options))
    return error;
  if (*stage <= Stage::Llvm)
    return writeFile(options.output, [&](llvm::raw_ostream &out) {
      (*module)->print(out);
      return llvm::Error::success();
    });

  llvm::LLVMContext llvmContext;
  auto ir = toLlvmIr(**module, *target, llvmContext);
  if (!ir)
    return ir.takeError();
  if (*stage == Stage::LlvmIr)
    return writeFile(options.output, [&](llvm::raw_ostream &out) {
      (*ir)->print(out, nullptr);
      return llvm::Error::success();
    });
  auto code = [&](llvm::CodeGenFileType type) {
    return [&, type](llvm::raw_pwrite_stream &out) { return emitCode(**ir, *target, type, out); };
  };
  if (*stage == Stage::Asm)
    return writeFile(options.output, code(llvm::CodeGenFileType::AssemblyFile));
  if (*stage == Stage::Object)
    return writeFile(options.output, code(llvm::CodeGenFileType::ObjectFile));

  llvm::SmallString<128> object;
  if (std::error_code error = fs::createTemporaryFile("transformer", "o", object))
    return createStringError(error, "temporary object file");
  llvm::Error error = writeFile(object.str().str(), code(llvm::CodeGenFileType::ObjectFile));
  if (!error)
    error = linkProgram(object, options.output, *stage == Stage::Module,
                        runtimeDirectory(options.program));
  fs::remove(object);
  if (!error && options.embedWeights)
    error = appendWeights(options.output, options.input);
  return error;
}
