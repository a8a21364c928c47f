//===- EmitNestsPass.cpp - the pass transformer-cpu-emit-nests ------------===//
#include "codegen/cpu/nests/Nests.h"
#include "codegen/cpu/nests/VectorMath.h"
#include "codegen/kernels/KernelDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

struct EmitNestsPass : PassWrapper<EmitNestsPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(EmitNestsPass)

  EmitNestsPass() = default;
  EmitNestsPass(const EmitNestsPass &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "transformer-cpu-emit-nests"; }
  StringRef getDescription() const override {
    return "replaces transformer_kernel ops on buffers by loop nests for a CPU, and math.exp, "
           "exp2, tanh and erf on f32 by vector arithmetic";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, LLVM::LLVMDialect, math::MathDialect,
                    memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>();
  }
  void runOnOperation() override {
    llvm::Expected<CpuTarget> target = cpuTarget(arch);
    if (!target) {
      getOperation()->emitError(llvm::toString(target.takeError()));
      return signalPassFailure();
    }
    if (failed(emitKernelNests(getOperation(), *target)) ||
        failed(expandVectorMath(getOperation())))
      signalPassFailure();
  }

  Option<std::string> arch{*this, "arch",
                           llvm::cl::desc("target, as --arch of transformer-compile"),
                           llvm::cl::init("native")};
};

} // namespace

std::unique_ptr<Pass> transformer::createEmitNestsPass(StringRef arch) {
  auto pass = std::make_unique<EmitNestsPass>();
  pass->arch = arch.str();
  return pass;
}

void transformer::registerEmitNestsPass() { PassRegistration<EmitNestsPass>(); }
