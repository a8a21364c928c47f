//===- Pipelines.cpp - the CPU's stages -----------------------------------===//
#include "codegen/cpu/Pipelines.h"
#include "codegen/Passes.h"
#include "codegen/cpu/Passes.h"
#include "codegen/memory/Pipelines.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::transformer;

void mlir::transformer::buildCpuPackPipeline(OpPassManager &manager, StringRef arch) {
  manager.addPass(createSetTarget({arch.str()}));
  manager.addPass(createEstimateSquares());
  manager.addPass(createConvertElementwiseToLinalgPass());
  manager.addPass(createPackLinear());
  addPreparePasses(manager);
}

void mlir::transformer::buildCpuTilePipeline(OpPassManager &manager) {
  manager.addPass(createSeparateWeights());
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
  // What needs no look at the module goes function by function, several at a time.
  OpPassManager &functions = manager.nestAny();
  addCleanUp(functions);
  functions.addPass(createLoopInvariantCodeMotionPass());
  VectorTransferToSCFOptions vectorToScf;
  vectorToScf.unroll = true;
  functions.addPass(createConvertVectorToSCFPass(vectorToScf));
  functions.addPass(arith::createArithExpandOpsPass());
  functions.addPass(createLowerAffinePass());
  functions.addPass(createSCFToControlFlowPass());
  functions.addPass(memref::createExpandStridedMetadataPass());
  functions.addPass(createLowerAffinePass());
  functions.addPass(createConvertVectorToLLVMPass());
  functions.addPass(createConvertMathToLLVMPass());
  manager.addPass(createConvertMathToLibmPass()); // declares functions
  OpPassManager &again = manager.nestAny();
  again.addPass(createArithToLLVMConversionPass());
  again.addPass(createConvertIndexToLLVMPass());
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  manager.addPass(createConvertFuncToLLVMPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createUBToLLVMConversionPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  addCleanUp(manager.nestAny());
}
