//===- Pipelines.cpp - the GPU's stages -----------------------------------===//
#include "codegen/gpu/Pipelines.h"
#include "codegen/Passes.h"
#include "codegen/gpu/Passes.h"
#include "codegen/memory/Pipelines.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace mlir::transformer;

void mlir::transformer::buildGpuThreadsPipeline(OpPassManager &manager) {
  manager.addPass(createNarrowWeights());
  manager.addPass(createInlineKernels());
  manager.addPass(createNarrowCalls());
  manager.addPass(createFuseRoundings());
  addPreparePasses(manager, /*rowsStayInCaches=*/false);
  manager.addPass(createLowerPrepare());
  manager.addPass(createFuseProducts());
  manager.addPass(createBufferizeModule());
  addCleanUp(manager.nest<func::FuncOp>());
  manager.addPass(createInsertResults());
  manager.addPass(createEmitGpuKernels());
  addCleanUp(manager.nest<func::FuncOp>());
  manager.addPass(createScalarsToThreads());
  manager.addPass(createHostInputs());
  manager.addPass(createPlanMemory());
}

void mlir::transformer::buildGpuPipeline(OpPassManager &manager, StringRef arch) {
  manager.addPass(createSetGpuTarget({arch.str()}));
  buildGpuThreadsPipeline(manager);
  manager.addPass(createMapThreads());
  addCleanUp(manager.nest<func::FuncOp>());
  manager.addPass(createGpuLaunchSinkIndexComputationsPass()); // constants are no parameters
  manager.addPass(createGpuKernelOutliningPass());
  manager.addPass(createMergeKernels());
  manager.addPass(createAttachGpuTarget());
  addCleanUp(manager.nestAny());
}

void mlir::transformer::buildNvvmPipeline(OpPassManager &manager) {
  OpPassManager &module = manager.nest<mlir::gpu::GPUModuleOp>();
  OpPassManager &kernels = module.nestAny();
  kernels.addPass(createSCFToControlFlowPass());
  kernels.addPass(memref::createExpandStridedMetadataPass());
  kernels.addPass(createLowerAffinePass());
  module.addPass(createMathToIntrinsics());
  module.addPass(createConvertNVGPUToNVVMPass());
  module.addPass(createConvertGpuOpsToNVVMOps());
  module.addPass(createArithToLLVMConversionPass());
  module.addPass(createReconcileUnrealizedCastsPass());
  module.addPass(createAlignSharedMemory());
  module.addPass(createTensorMapParameters());
  addBlockCleanUp(module.nestAny());
  manager.addPass(createMergeKernels());
}

void mlir::transformer::buildGpuHostPipeline(OpPassManager &manager) {
  manager.addPass(createLowerLaunches());
  manager.addPass(createLowerModuleAbi());
  manager.addPass(createPassPointers());
  OpPassManager &functions = manager.nestAny(); // of the LLVM dialect, too
  addCleanUp(functions);
  functions.addPass(arith::createArithExpandOpsPass());
  functions.addPass(createSCFToControlFlowPass());
  functions.addPass(memref::createExpandStridedMetadataPass());
  functions.addPass(createLowerAffinePass());
  addConversionToLlvm(manager);
}
