//===- AlignSharedMemory.cpp - where a block's memory begins --------------===//
#include "codegen/gpu/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_ALIGNSHAREDMEMORY
#include "codegen/gpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

constexpr uint64_t alignmentOfSwizzles = 1024;

struct AlignSharedMemoryPass
    : mlir::transformer::impl::AlignSharedMemoryBase<AlignSharedMemoryPass> {
  using Base::Base;
  void runOnOperation() override {
    for (auto global : getOperation().getOps<LLVM::GlobalOp>())
      if (global.getAddrSpace() == static_cast<unsigned>(NVVM::NVVMMemorySpace::Shared))
        global.setAlignment(std::max(global.getAlignment().value_or(1), alignmentOfSwizzles));
  }
};

} // namespace
