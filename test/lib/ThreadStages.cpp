//===- ThreadStages.cpp - a GPU's kernels on this CPU ---------------------===//
#include "test/lib/ThreadStages.h"
#include "codegen/Passes.h"
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/Pipelines.h"
#include "codegen/gpu/Pipelines.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Pipelines.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Threads as loops that count down: what a thread of a kernel reads, no other may have written,
/// and one that reads what threads before it write finds that it is not there.
struct ThreadsToLoops : PassWrapper<ThreadsToLoops, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ThreadsToLoops)
  StringRef getName() const override { return "ThreadsToLoops"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, scf::SCFDialect>();
  }
  void runOnOperation() override {
    SmallVector<scf::ParallelOp> all;
    getOperation()->walk([&](scf::ParallelOp threads) { all.push_back(threads); });
    for (scf::ParallelOp threads : all)
      lower(threads);
  }

private:
  static void lower(scf::ParallelOp threads) {
    ImplicitLocOpBuilder b(threads.getLoc(), threads);
    Value zero = arith::ConstantIndexOp::create(b, 0), one = arith::ConstantIndexOp::create(b, 1);
    IRMapping map;
    for (auto [bound, index] :
         llvm::zip_equal(threads.getUpperBound(), threads.getInductionVars())) {
      auto loop = scf::ForOp::create(b, zero, bound, one);
      b.setInsertionPointToStart(loop.getBody());
      Value last = arith::SubIOp::create(b, bound, one);
      map.map(index, arith::SubIOp::create(b, last, loop.getInductionVar()).getResult());
    }
    for (Operation &op : threads.getBody()->without_terminator())
      b.clone(op, map);
    threads.erase();
  }
};

void buildFused(OpPassManager &manager, const StageOptions &options) {
  LinearDtypes dtypes = options.dtypes;
  dtypes.attention = true; // as for a GPU
  buildFusionPipeline(manager, dtypes, options.purpose);
}

void buildThreads(OpPassManager &manager, const StageOptions &options) {
  manager.addPass(createConvertTransformerToLinalg());
  manager.addPass(createFuseElementwise());
  manager.addPass(createSetTarget({options.arch}));
  buildGpuThreadsPipeline(manager);
  manager.addPass(std::make_unique<ThreadsToLoops>());
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true; // for which an old CPU has no instructions
  manager.addPass(arith::createArithExpandOpsPass(expand));
}

void buildLlvm(OpPassManager &manager, const StageOptions &) { buildCpuLlvmPipeline(manager); }

constexpr Stage stages[] = {
    {"fused", "", "", buildFused, true},
    {"threads", "", "kernels' threads as loops", buildThreads, true},
    {"llvm", "", "", buildLlvm},
};
constexpr StringRef files[] = {"exe", "module"};
constexpr TargetKind kind = {"cpu", "", stages, files, "native"};

} // namespace

const TargetKind &mlir::transformer::threadsOnCpu() { return kind; }
