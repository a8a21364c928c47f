//===- SetTarget.cpp - which CPU the module's code is for -----------------===//
#include "codegen/Target.h"
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/Target.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_SETTARGET
#include "codegen/cpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

struct SetTargetPass : mlir::transformer::impl::SetTargetBase<SetTargetPass> {
  using Base::Base;
  void runOnOperation() override {
    llvm::Expected<cpu::TargetAttr> target = cpuTarget(&getContext(), arch);
    if (!target) {
      getOperation().emitError(llvm::toString(target.takeError()));
      return signalPassFailure();
    }
    getOperation()->setAttr(kTargetAttr, *target);
  }
};

} // namespace
