//===- Pipelines.cpp - named pipelines to a CPU program -------------------===//
#include "codegen/Pipelines.h"
#include "codegen/Passes.h"
#include "codegen/cpu/nests/Nests.h"
#include "codegen/kernels/KernelDialect.h"
#include "dialect/TransformerDialect.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "passes/Pipelines.h"

using namespace mlir;
using namespace mlir::transformer;

static void addCleanUp(OpPassManager &manager) {
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

void mlir::transformer::buildLinalgPipeline(OpPassManager &manager) {
  manager.addPass(createConvertTransformerToLinalg());
  manager.addPass(createFuseElementwise());
  addCleanUp(manager);
}

void mlir::transformer::buildCpuPackPipeline(OpPassManager &manager, const CpuTarget &target) {
  if (target.winograd) {
    manager.addPass(createEstimateSquares());
    manager.addPass(createConvertElementwiseToLinalgPass());
  }
  PackLinearOptions options;
  options.arch = target.name;
  manager.addPass(createPackLinear(options));
  manager.addPass(createNormInPlace());
  manager.addPass(createPassDestinations());
  addCleanUp(manager);
  manager.addPass(createHoistParametersPass());
  manager.addPass(createOutlinePreparedPass());
  addCleanUp(manager);
}

void mlir::transformer::buildCpuTilePipeline(OpPassManager &manager, const CpuTarget &target) {
  manager.addPass(createLowerPrepare());
  TileLinearOptions options;
  options.arch = target.name;
  manager.addPass(createTileLinear(options));
  manager.addPass(createVectorizeLinear());
  addCleanUp(manager);
}

void mlir::transformer::buildCpuBufferPipeline(OpPassManager &manager, const CpuTarget &target) {
  manager.addPass(createBufferizeModule());
  addCleanUp(manager);
  manager.addPass(createLowerElementwise());
  manager.addPass(createSumInBlocks());
  manager.addPass(createLowerVectors());
  manager.addPass(createCanonicalizerPass()); // constant steps of unrolled loops
  manager.addPass(createPrefetchPanels());
  manager.addPass(createEmitNestsPass(target.name));
  addCleanUp(manager);
  manager.addPass(createPlanMemory());
  addCleanUp(manager);
}

void mlir::transformer::buildCpuLlvmPipeline(OpPassManager &manager, const CpuTarget &target) {
  manager.addPass(createOutlineParallel());
  LowerModuleAbiOptions options;
  options.arch = target.name;
  manager.addPass(createLowerModuleAbi(options));
  addCleanUp(manager);
  manager.addPass(createLoopInvariantCodeMotionPass());
  VectorTransferToSCFOptions vectorToScf;
  vectorToScf.unroll = true;
  manager.addPass(createConvertVectorToSCFPass(vectorToScf));
  manager.addPass(arith::createArithExpandOpsPass());
  manager.addPass(createLowerAffinePass());
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createLowerAffinePass());
  manager.addPass(createConvertVectorToLLVMPass());
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createConvertMathToLibmPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertIndexToLLVMPass());
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  manager.addPass(createConvertFuncToLLVMPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createUBToLLVMConversionPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  addCleanUp(manager);
}

void mlir::transformer::buildCpuPipeline(OpPassManager &manager, const CpuTarget &target) {
  buildFusionPipeline(manager);
  buildLinalgPipeline(manager);
  buildCpuPackPipeline(manager, target);
  buildCpuTilePipeline(manager, target);
  buildCpuBufferPipeline(manager, target);
  buildCpuLlvmPipeline(manager, target);
}

namespace {
struct TargetOptions : PassPipelineOptions<TargetOptions> {
  Option<std::string> arch{*this, "arch",
                           llvm::cl::desc("target, as --arch of transformer-compile"),
                           llvm::cl::init("native")};
};

void registerPipeline(StringRef name, StringRef description,
                      void (*build)(OpPassManager &, const CpuTarget &)) {
  PassPipelineRegistration<TargetOptions>(
      name, description, [build](OpPassManager &manager, const TargetOptions &options) {
        llvm::Expected<CpuTarget> target = cpuTarget(options.arch);
        if (!target)
          llvm::report_fatal_error(target.takeError(), /*gen_crash_diag=*/false);
        build(manager, *target);
      });
}
} // namespace

void mlir::transformer::registerCodegenPipelines() {
  registerTransformerCodegenPasses();
  registerEmitNestsPass();
  PassPipelineRegistration<>("transformer-to-linalg-on-tensors",
                             "fused dialect to linalg and kernels on tensors, for any target",
                             buildLinalgPipeline);
  registerPipeline("transformer-cpu-pack", "weights in panels, prepared at load",
                   buildCpuPackPipeline);
  registerPipeline("transformer-cpu-tile", "linear layers to register tiles on vectors",
                   buildCpuTilePipeline);
  registerPipeline("transformer-cpu-to-buffers", "tensors to buffers, kernels to loop nests",
                   buildCpuBufferPipeline);
  registerPipeline("transformer-cpu-to-llvm", "loops to the LLVM dialect and the module ABI",
                   buildCpuLlvmPipeline);
  registerPipeline("transformer-to-cpu", "a model to the LLVM dialect for a CPU", buildCpuPipeline);
}

void mlir::transformer::registerCodegenDialects(DialectRegistry &registry) {
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerAllToLLVMIRTranslations(registry);
  registry.insert<TransformerDialect, kernel::KernelDialect>();
  kernel::registerBufferization(registry);
}
