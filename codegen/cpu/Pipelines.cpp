//===- Pipelines.cpp - the CPU's stages -----------------------------------===//
#include "codegen/cpu/Pipelines.h"
#include "codegen/Passes.h"
#include "codegen/cpu/Passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"

using namespace mlir;
using namespace mlir::transformer;

static void addCleanUp(OpPassManager &manager) {
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

void mlir::transformer::buildCpuPackPipeline(OpPassManager &manager, StringRef arch) {
  manager.addPass(createSetTarget({arch.str()}));
  manager.addPass(createEstimateSquares());
  manager.addPass(createConvertElementwiseToLinalgPass());
  manager.addPass(createPackLinear());
  manager.addPass(createNormInPlace());
  manager.addPass(createPassDestinations());
  addCleanUp(manager);
  manager.addPass(createHoistParametersPass());
  manager.addPass(createOutlinePreparedPass());
  addCleanUp(manager);
}

void mlir::transformer::buildCpuTilePipeline(OpPassManager &manager) {
  manager.addPass(createLowerPrepare());
  manager.addPass(createTileLinear());
  manager.addPass(createVectorizeLinear());
  addCleanUp(manager);
}

void mlir::transformer::buildCpuBufferPipeline(OpPassManager &manager) {
  manager.addPass(createBufferizeModule());
  addCleanUp(manager);
  manager.addPass(createLowerElementwise());
  manager.addPass(createSumInBlocks());
  manager.addPass(createLowerVectors());
  manager.addPass(createCanonicalizerPass()); // constant steps of unrolled loops
  manager.addPass(createPrefetchPanels());
  manager.addPass(createEmitNests());
  addCleanUp(manager);
  manager.addPass(createPlanMemory());
  addCleanUp(manager);
}

void mlir::transformer::buildCpuLlvmPipeline(OpPassManager &manager) {
  manager.addPass(createOutlineParallel());
  manager.addPass(createLowerModuleAbi());
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
