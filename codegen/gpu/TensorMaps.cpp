//===- TensorMaps.cpp - what tells of a matrix, as a parameter ------------===//
#include "codegen/gpu/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_TENSORMAPPARAMETERS
#include "codegen/gpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

constexpr int64_t bytesOfMap = 128, alignmentOfMap = 64;

struct TensorMapParametersPass
    : mlir::transformer::impl::TensorMapParametersBase<TensorMapParametersPass> {
  using Base::Base;
  void runOnOperation() override {
    Builder b(&getContext());
    auto bytes = LLVM::LLVMArrayType::get(b.getI8Type(), bytesOfMap);
    getOperation().walk([&](NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp op) {
      auto argument = dyn_cast<BlockArgument>(op.getTmaDescriptor());
      auto kernel = argument ? dyn_cast<LLVM::LLVMFuncOp>(argument.getOwner()->getParentOp())
                             : LLVM::LLVMFuncOp();
      if (!kernel || !argument.getOwner()->isEntryBlock())
        return;
      auto set = [&](StringRef name, Attribute value) {
        kernel.setArgAttr(argument.getArgNumber(), name, value);
      };
      set(LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(bytes));
      set(LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(alignmentOfMap));
      set(NVVM::NVVMDialect::getGridConstantAttrName(), b.getUnitAttr());
    });
  }
};

} // namespace
