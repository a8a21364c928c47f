//===- InlineKernels.cpp - functions of one kernel to their callers -------===//
#include "codegen/gpu/Passes.h"
#include "codegen/kernels/KernelDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_INLINEKERNELS
#include "codegen/gpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Whether all that a private function does is one kernel, and scalars for it.
bool isOneKernel(func::FuncOp function) {
  if (!function.isPrivate() || function.isExternal() || !function.getBody().hasOneBlock())
    return false;
  int64_t kernels = 0;
  for (Operation &op : function.front().without_terminator()) {
    if (isa<linalg::LinalgOp>(op) || isa_and_nonnull<kernel::KernelDialect>(op.getDialect()))
      ++kernels;
    else if (op.getNumRegions() || isa<func::CallOp>(op))
      return false;
  }
  return kernels == 1;
}

void inlineInto(func::CallOp call, func::FuncOp function) {
  OpBuilder b(call);
  IRMapping map;
  map.map(function.getArguments(), call.getOperands());
  for (Operation &op : function.front().without_terminator())
    b.clone(op, map);
  for (auto [result, value] :
       llvm::zip_equal(call.getResults(), function.front().getTerminator()->getOperands()))
    result.replaceAllUsesWith(map.lookupOrDefault(value));
  call.erase();
}

struct InlineKernelsPass : mlir::transformer::impl::InlineKernelsBase<InlineKernelsPass> {
  using Base::Base;
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    llvm::SmallPtrSet<Operation *, 16> inlined;
    SmallVector<func::CallOp> calls;
    getOperation()->walk([&](func::CallOp call) { calls.push_back(call); });
    for (func::CallOp call : calls) {
      auto function = symbols.lookup<func::FuncOp>(call.getCallee());
      if (!function || !isOneKernel(function))
        continue;
      inlineInto(call, function);
      inlined.insert(function);
    }
    for (Operation *function : inlined)
      if (SymbolTable::symbolKnownUseEmpty(function, getOperation()))
        function->erase();
  }
};

} // namespace
