//===- Pipelines.cpp - the CPU's stages -----------------------------------===//
#include "codegen/cpu/Pipelines.h"
#include "codegen/Passes.h"
#include "codegen/cpu/KeepTasks.h"
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

static void addCleanUpOfTasks(OpPassManager &functions) { addCleanUp(functions, foldsOfTasks()); }

void mlir::transformer::buildCpuPackPipeline(OpPassManager &manager, StringRef arch) {
  manager.addPass(createSetTarget({arch.str()}));
  manager.addPass(createEstimateSquares());
  manager.addPass(createConvertElementwiseToLinalgPass());
  manager.addPass(createFuseElementwise()); // and a destination that is not a weight
  manager.addPass(createPackLinear());
  manager.addPass(createSaveWords());
  manager.addNestedPass<func::FuncOp>(createRoundOnce());
  addPreparePasses(manager, /*rowsStayInCaches=*/true);
}

// What needs no look at the module goes function by function, several at a time.

void mlir::transformer::buildCpuTilePipeline(OpPassManager &manager) {
  manager.addPass(createSeparateWeights());
  manager.addPass(createLowerPrepare());
  OpPassManager &functions = manager.nest<func::FuncOp>();
  functions.addPass(createTileLinear());
  functions.addPass(createVectorizeLinear());
  addCleanUpOfTasks(functions);
}

void mlir::transformer::buildCpuBufferPipeline(OpPassManager &manager) {
  manager.addPass(createBufferizeModule());
  addCleanUpOfTasks(manager.nest<func::FuncOp>());
  manager.addPass(createInsertResults());
  OpPassManager &functions = manager.nest<func::FuncOp>();
  functions.addPass(createRoundInEpilogues());
  functions.addPass(createMoveUpdates());
  functions.addPass(createLowerElementwise());
  functions.addPass(createSumInBlocks());
  functions.addPass(createLowerVectors());
  addCleanUpOfTasks(functions); // constant steps of unrolled loops
  functions.addPass(createPrefetchPanels());
  functions.addPass(createUpdateInTiles());
  functions.addPass(createMarkEpilogues());
  functions.addPass(createEmitNests());
  addCleanUpOfTasks(functions);
  manager.addPass(createPlanMemory());
  addCleanUpOfTasks(manager.nest<func::FuncOp>());
}

void mlir::transformer::buildCpuLlvmPipeline(OpPassManager &manager) {
  manager.addPass(createOutlineEpilogues());
  manager.addPass(createOutlineParallel());
  manager.addPass(createMergeTasks());
  manager.addPass(createLowerModuleAbi());
  manager.addPass(createPassPointers());
  manager.addPass(createLowerGlobals());        // functions refer to them
  OpPassManager &functions = manager.nestAny(); // of the LLVM dialect, too
  addCleanUp(functions);
  functions.addPass(createLoopInvariantCodeMotionPass());
  VectorTransferToSCFOptions vectorToScf;
  vectorToScf.unroll = true;
  functions.addPass(createConvertVectorToSCFPass(vectorToScf));
  functions.addPass(arith::createArithExpandOpsPass());
  functions.addPass(createLowerAffinePass());
  functions.addPass(createSCFToControlFlowPass());
  functions.addPass(createLowerMatrices());
  functions.addPass(memref::createExpandStridedMetadataPass());
  functions.addPass(createLowerAffinePass());
  functions.addPass(createConvertVectorToLLVMPass());
  functions.addPass(createConvertMathToLLVMPass());
  manager.addPass(createConvertMathToLibmPass()); // declares functions
  addConversionToLlvm(manager);
}
