//===- Target.cpp - which GPU code is for ---------------------------------===//
#include "codegen/Target.h"
#include "codegen/gpu/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Builders.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_SETGPUTARGET
#define GEN_PASS_DEF_ATTACHGPUTARGET
#include "codegen/gpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

struct SetGpuTargetPass : mlir::transformer::impl::SetGpuTargetBase<SetGpuTargetPass> {
  using Base::Base;
  void runOnOperation() override {
    // The oldest PTX that knows the architecture.
    StringRef features = arch == "sm_80" ? "+ptx70" : arch == "sm_90a" ? "+ptx80" : "";
    if (features.empty()) {
      getOperation().emitError("--arch " + arch + ": expected sm_80 or sm_90a");
      return signalPassFailure();
    }
    getOperation()->setAttr(kTargetAttr,
                            NVVM::NVVMTargetAttr::get(&getContext(), /*optLevel=*/3,
                                                      "nvptx64-nvidia-cuda", arch, features));
  }
};

struct AttachGpuTargetPass : mlir::transformer::impl::AttachGpuTargetBase<AttachGpuTargetPass> {
  using Base::Base;
  void runOnOperation() override {
    auto target = getOperation()->getAttrOfType<NVVM::NVVMTargetAttr>(kTargetAttr);
    if (!target) {
      getOperation().emitError("has no target; transformer-gpu-set-target gives it one");
      return signalPassFailure();
    }
    auto one = IntegerAttr::get(IntegerType::get(&getContext(), 32), 1);
    for (auto module : getOperation().getOps<mlir::gpu::GPUModuleOp>()) {
      module.setTargetsAttr(ArrayAttr::get(&getContext(), {target}));
      // Else ptxas takes fewer registers than there are, and spills for it.
      for (auto kernel : module.getOps<mlir::gpu::GPUFuncOp>())
        kernel->setDiscardableAttr(NVVM::NVVMDialect::getMinctasmAttrName(), one);
    }
  }
};

} // namespace
