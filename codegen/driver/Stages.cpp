//===- Stages.cpp - from a model to a target's code -----------------------===//
#include "codegen/driver/Stages.h"
#include "codegen/Passes.h"
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/Pipelines.h"
#include "codegen/cpu/Target.h"
#include "codegen/cpu/dialect/CpuDialect.h"
#include "codegen/gpu/Passes.h"
#include "codegen/gpu/Pipelines.h"
#include "codegen/gpu/Target.h"
#include "codegen/gpu/dialect/GpuDialect.h"
#include "codegen/kernels/KernelDialect.h"
#include "codegen/memory/Pipelines.h"
#include "codegen/memory/SubsetModels.h"
#include "dialect/DifferentiateInterface.h"
#include "dialect/TransformerDialect.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "passes/Pipelines.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::transformer;

/// What is true of the CPU. A name that is not known is an error of the stage that sets the target.
static bool isTrueOfCpu(StringRef arch, function_ref<bool(cpu::TargetAttr)> predicate) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<cpu::CpuDialect>();
  llvm::Expected<cpu::TargetAttr> target = cpuTarget(&context, arch.empty() ? "native" : arch);
  if (!target) {
    llvm::consumeError(target.takeError());
    return false;
  }
  return predicate(*target);
}

LinearDtypes mlir::transformer::cpuDtypes(const StageOptions &options) {
  LinearDtypes dtypes = options.dtypes;
  dtypes.encoders =
      dtypes.activations == "bf16" && !options.purpose.trains() &&
      isTrueOfCpu(options.arch, [](cpu::TargetAttr target) { return target.matrixRows() > 0; });
  return dtypes;
}

namespace {

void buildFused(OpPassManager &manager, const StageOptions &options) {
  Purpose purpose = options.purpose;
  purpose.sumsTables = purpose.dropsUnlabelled = true;
  purpose.deferUpdate = purpose.trains() && isTrueOfCpu(options.arch, [](cpu::TargetAttr target) {
                          return target.hidesUpdates();
                        });
  buildFusionPipeline(manager, cpuDtypes(options), purpose);
}

/// Attention multiplies what linear layers do, and there are blocks to keep busy.
void buildGpuFused(OpPassManager &manager, const StageOptions &options) {
  LinearDtypes dtypes = options.dtypes;
  dtypes.attention = true;
  Purpose purpose = options.purpose;
  if (const GpuTarget *target = findGpuTarget(options.arch))
    purpose.rowsOfScores = target->rowsOfScores;
  buildFusionPipeline(manager, dtypes, purpose);
}

void buildLinalg(OpPassManager &manager, const StageOptions &) {
  manager.addPass(createConvertTransformerToLinalg());
  manager.addPass(createFuseElementwise());
  addCleanUp(manager);
}

template <void (*build)(OpPassManager &, StringRef)>
void forArch(OpPassManager &manager, const StageOptions &options) {
  build(manager, options.arch);
}

/// For stages behind the one that sets the target.
template <void (*build)(OpPassManager &)>
void onTarget(OpPassManager &manager, const StageOptions &) {
  build(manager);
}

constexpr Stage fused = {"fused", "transformer-fuse", "layers once each, core ops fused",
                         buildFused, true};
constexpr Stage onTensors = {"linalg", "transformer-to-linalg-on-tensors",
                             "linalg and kernels on tensors, the same for every target",
                             buildLinalg};

constexpr Stage cpuStages[] = {
    fused,
    onTensors,
    {"packed", "transformer-cpu-pack", "weights in panels, prepared at load",
     forArch<buildCpuPackPipeline>, true},
    {"tiled", "transformer-cpu-tile", "linear layers in register tiles on vectors",
     onTarget<buildCpuTilePipeline>},
    {"buffers", "transformer-cpu-to-buffers", "buffers in one arena, kernels as loop nests",
     onTarget<buildCpuBufferPipeline>},
    {"llvm", "transformer-cpu-to-llvm", "the LLVM dialect and the module ABI",
     onTarget<buildCpuLlvmPipeline>},
};
constexpr StringRef cpuFiles[] = {"llvm-ir", "asm", "object", "exe", "module"};

constexpr Stage gpuStages[] = {
    {"fused", "transformer-gpu-fuse", "layers once each, core ops fused", buildGpuFused, true},
    onTensors,
    {"gpu", "transformer-gpu-map", "buffers in one arena, kernels and their launches",
     forArch<buildGpuPipeline>, true},
    {"nvvm", "transformer-gpu-to-nvvm", "kernels in NVVM", onTarget<buildNvvmPipeline>},
};
constexpr StringRef gpuFiles[] = {"ptx", "cubin", "object", "exe", "module"};

constexpr TargetKind kinds[] = {{"cpu", "transformer-to-cpu", cpuStages, cpuFiles, "native"},
                                {"cuda", "transformer-to-nvvm", gpuStages, gpuFiles, "sm_90a"}};

void buildStages(OpPassManager &manager, ArrayRef<Stage> stages, const StageOptions &options) {
  for (const Stage &stage : stages)
    stage.build(manager, options);
}

/// Options of a pipeline as those of transformer-compile.
struct PipelineOptions : PassPipelineOptions<PipelineOptions> {
  Option<std::string> arch{*this, "arch",
                           llvm::cl::desc("target, as --arch of transformer-compile")};
  Option<std::string> weightsDtype{*this, "weights-dtype", llvm::cl::init("f32"),
                                   llvm::cl::desc("as --weights-dtype of transformer-compile")};
  Option<std::string> activationsDtype{
      *this, "activations-dtype", llvm::cl::init("f32"),
      llvm::cl::desc("as --activations-dtype of transformer-compile")};
  Option<std::string> mode{*this, "mode", llvm::cl::init("inference"),
                           llvm::cl::desc("as --mode of transformer-compile")};
  Option<std::string> recompute{*this, "recompute", llvm::cl::init("none"),
                                llvm::cl::desc("as --recompute of transformer-compile")};
  Option<std::string> dropout{*this, "dropout",
                              llvm::cl::desc("as --dropout of transformer-compile")};
  ListOption<std::string> freeze{*this, "freeze",
                                 llvm::cl::desc("as --freeze of transformer-compile")};
  Option<std::string> optimizer{*this, "optimizer", llvm::cl::init("adamw"),
                                llvm::cl::desc("as --optimizer of transformer-compile")};
  Option<std::string> mixedPrecision{*this, "mixed-precision", llvm::cl::init("no"),
                                     llvm::cl::desc("as --mixed-precision of transformer-compile")};
};

void registerPipeline(StringRef name, StringRef description, ArrayRef<Stage> stages,
                      StringRef defaultArch) {
  if (llvm::none_of(stages, [](const Stage &stage) { return stage.asks; })) {
    PassPipelineRegistration<>(
        name, description, [stages](OpPassManager &manager) { buildStages(manager, stages, {}); });
    return;
  }
  PassPipelineRegistration<PipelineOptions>(
      name, description, [=](OpPassManager &manager, const PipelineOptions &options) {
        std::string arch = options.arch.empty() ? defaultArch.str() : options.arch.getValue();
        buildStages(manager, stages,
                    {arch,
                     {options.weightsDtype, options.activationsDtype},
                     {options.mode,
                      options.recompute,
                      options.dropout,
                      {options.freeze.begin(), options.freeze.end()},
                      options.optimizer,
                      /*accumulate=*/false,
                      options.mixedPrecision}});
      });
}

} // namespace

ArrayRef<TargetKind> mlir::transformer::targetKinds() { return kinds; }

const TargetKind *mlir::transformer::findTargetKind(StringRef name) {
  const TargetKind *kind =
      llvm::find_if(targetKinds(), [&](const TargetKind &k) { return k.name == name; });
  return kind == targetKinds().end() ? nullptr : kind;
}

SmallVector<StringRef> mlir::transformer::emittable(const TargetKind &kind) {
  SmallVector<StringRef> names = {"dialect"};
  for (const Stage &stage : kind.stages)
    names.push_back(stage.name);
  names.append(kind.files.begin(), kind.files.end());
  return names;
}

std::string mlir::transformer::targetNames() {
  SmallVector<StringRef> names;
  for (const TargetKind &kind : targetKinds())
    names.push_back(kind.name);
  return listOf(names);
}

std::string mlir::transformer::emitHelp() {
  std::string help;
  for (const TargetKind &kind : targetKinds())
    help += (help.empty() ? "" : "; ") + (kind.name + ": ").str() + listOf(emittable(kind));
  return help;
}

void mlir::transformer::registerCodegenPipelines() {
  registerTransformerCodegenPasses();
  registerTransformerCpuPasses();
  registerTransformerGpuPasses();
  llvm::StringSet<> registered;
  for (const TargetKind &kind : targetKinds()) {
    for (const Stage &stage : kind.stages)
      if (registered.insert(stage.pipeline).second)
        registerPipeline(stage.pipeline, stage.description, stage, kind.defaultArch);
    registerPipeline(kind.pipeline, "a model to the last of the stages above", kind.stages,
                     kind.defaultArch);
  }
}

void mlir::transformer::registerCodegenDialects(DialectRegistry &registry) {
  registerSubsetModels(registry);
  registerDifferentiation(registry);
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerAllToLLVMIRTranslations(registry);
  registry.insert<TransformerDialect, kernel::KernelDialect, cpu::CpuDialect, simt::GpuDialect>();
  kernel::registerBufferization(registry);
  cpu::registerBufferization(registry);
  simt::registerBufferization(registry);
}
