//===- Target.cpp - which GPU code is for ---------------------------------===//
#include "codegen/Target.h"
#include "codegen/gpu/Passes.h"
#include "codegen/gpu/Target.h"
#include "codegen/gpu/nests/BulkCopies.h"
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

constexpr GpuTarget targets[] = {
    {.arch = "sm_80", .features = "+ptx70", .sharedMemoryBytes = 163 * 1024},
    {.arch = "sm_90a",
     .features = "+ptx80",
     .sharedMemoryBytes = 227 * 1024,
     .startsEarly = true,
     .tensorProduct = {128, 256, 64, 4, 64, 256, 128},
     .tensorProductOfFew = {16, 16, 512, 3, 16, 16, 32, 128},
     .wideTensorProductOfFew = {16, 32, 256, 4, 16, 16, 32, 128},
     .narrowTensorProduct = {128, 192, 64, 4, 64, 192, 128},
     .producerThreads = 128,
     .producerRegisters = 40,
     .consumerRegisters = 232,
     .attentionWarpgroups = 2,
     .attentionProducerRegisters = 56,
     .attentionConsumerRegisters = 224},
};

struct SetGpuTargetPass : mlir::transformer::impl::SetGpuTargetBase<SetGpuTargetPass> {
  using Base::Base;
  void runOnOperation() override {
    const GpuTarget *target = findGpuTarget(arch);
    if (!target) {
      getOperation().emitError("--arch " + arch + ": expected sm_80 or sm_90a");
      return signalPassFailure();
    }
    getOperation()->setAttr(kTargetAttr, NVVM::NVVMTargetAttr::get(&getContext(), /*optLevel=*/3,
                                                                   "nvptx64-nvidia-cuda", arch,
                                                                   target->features));
  }
};

/// Lets the kernel behind it start, and waits for those before it, unless it does so by itself
/// where it has begun to fetch what nobody writes.
void waitForEarlier(mlir::gpu::GPUFuncOp kernel) {
  using Kind = NVVM::GridDepActionKind;
  auto b = OpBuilder::atBlockBegin(&kernel.getBody().front());
  NVVM::GriddepcontrolOp::create(b, kernel.getLoc(), Kind::launch_dependents);
  bool waits =
      kernel
          .walk([](NVVM::GriddepcontrolOp op) {
            return op.getKind() == Kind::wait ? WalkResult::interrupt() : WalkResult::advance();
          })
          .wasInterrupted();
  if (!waits)
    NVVM::GriddepcontrolOp::create(b, kernel.getLoc(), Kind::wait);
}

struct AttachGpuTargetPass : mlir::transformer::impl::AttachGpuTargetBase<AttachGpuTargetPass> {
  using Base::Base;
  void runOnOperation() override {
    auto target = getOperation()->getAttrOfType<NVVM::NVVMTargetAttr>(kTargetAttr);
    if (!target) {
      getOperation().emitError("has no target; transformer-gpu-set-target gives it one");
      return signalPassFailure();
    }
    const GpuTarget *facts = gpuTargetOf(getOperation());
    auto one = IntegerAttr::get(IntegerType::get(&getContext(), 32), 1);
    auto cluster = DenseI32ArrayAttr::get(&getContext(), {simt::blocksOfCluster, 1, 1});
    for (auto module : getOperation().getOps<mlir::gpu::GPUModuleOp>()) {
      module.setTargetsAttr(ArrayAttr::get(&getContext(), {target}));
      // Else ptxas takes fewer registers than there are, and spills for it.
      for (auto kernel : module.getOps<mlir::gpu::GPUFuncOp>()) {
        kernel->setDiscardableAttr(NVVM::NVVMDialect::getMinctasmAttrName(), one);
        if (facts && facts->startsEarly)
          waitForEarlier(kernel);
        if (kernel.walk([](NVVM::ClusterWaitOp) { return WalkResult::interrupt(); })
                .wasInterrupted())
          kernel->setDiscardableAttr(NVVM::NVVMDialect::getClusterDimAttrName(), cluster);
      }
    }
  }
};

} // namespace

const GpuTarget *mlir::transformer::findGpuTarget(StringRef arch) {
  const GpuTarget *target =
      llvm::find_if(targets, [&](const GpuTarget &t) { return t.arch == arch; });
  return target == std::end(targets) ? nullptr : target;
}

const GpuTarget *mlir::transformer::gpuTargetOf(ModuleOp module) {
  auto attribute = module->getAttrOfType<NVVM::NVVMTargetAttr>(kTargetAttr);
  return attribute ? findGpuTarget(attribute.getChip()) : nullptr;
}
