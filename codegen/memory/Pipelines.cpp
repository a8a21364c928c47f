//===- Pipelines.cpp - what every target's pipelines share ----------------===//
#include "codegen/memory/Pipelines.h"
#include "codegen/Passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"

using namespace mlir;
using namespace mlir::transformer;

void mlir::transformer::addCleanUp(OpPassManager &manager, ArrayRef<std::string> disabled) {
  manager.addPass(createCanonicalizerPass(
      GreedyRewriteConfig().setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled),
      disabled));
  manager.addPass(createCSEPass());
}

void mlir::transformer::addBlockCleanUp(OpPassManager &manager) {
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

void mlir::transformer::addConversionToLlvm(OpPassManager &manager) {
  ConvertToLLVMPassOptions inFunctions;
  inFunctions.filterDialects = {"arith", "cf", "index", "memref", "ub"};
  manager.nestAny().addPass(createConvertToLLVMPass(inFunctions));
  manager.addPass(createConvertFuncToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  addBlockCleanUp(manager.nestAny());
}

void mlir::transformer::addPreparePasses(OpPassManager &manager, bool rowsStayInCaches) {
  manager.addPass(createShareSoftmax({rowsStayInCaches}));
  manager.addPass(createRowsInPlace());
  manager.addPass(createPassDestinations());
  addCleanUp(manager);
  manager.addPass(createHoistParametersPass());
  manager.addPass(createOutlinePreparedPass());
  addCleanUp(manager);
}
