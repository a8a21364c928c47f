//===- LowerGlobals.cpp - constants of the module -------------------------===//
#include "codegen/cpu/Passes.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_LOWERGLOBALS
#include "codegen/cpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;

namespace {

struct LowerGlobalsPass : mlir::transformer::impl::LowerGlobalsBase<LowerGlobalsPass> {
  using Base::Base;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (module.getOps<memref::GlobalOp>().empty())
      return;
    LLVMTypeConverter converter(&getContext());
    RewritePatternSet patterns(&getContext());
    SymbolTableCollection symbols;
    populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns, &symbols);
    ConversionTarget target(getContext());
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addIllegalOp<memref::GlobalOp, memref::GetGlobalOp>();
    if (failed(applyPartialConversion(module, target, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
