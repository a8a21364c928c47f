//===- EmitNestsPass.cpp - the pass transformer-cpu-emit-nests ------------===//
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/nests/Nests.h"
#include "codegen/math/VectorMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_EMITNESTS
#include "codegen/cpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

struct EmitNestsPass : mlir::transformer::impl::EmitNestsBase<EmitNestsPass> {
  using Base::Base;
  void runOnOperation() override {
    cpu::TargetAttr target = cpu::TargetAttr::of(getOperation());
    if (!target || failed(emitKernelNests(getOperation(), target)) ||
        failed(expandVectorMath(getOperation())))
      signalPassFailure();
  }
};

} // namespace
