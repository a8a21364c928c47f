//===- FreezeParameters.cpp - parameters that are not trained -------------===//
#include "dialect/ParameterOps.h"
#include "passes/Passes.h"
#include "llvm/Support/GlobPattern.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_FREEZEPARAMETERSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

struct FreezeParameters : transformer::impl::FreezeParametersPassBase<FreezeParameters> {
  using Base::Base;
  void runOnOperation() override {
    for (StringRef pattern : patterns) {
      auto glob = llvm::GlobPattern::create(pattern);
      if (!glob) {
        getOperation().emitError()
            << "pattern \"" << pattern << "\": " << llvm::toString(glob.takeError());
        return signalPassFailure();
      }
      bool any = false;
      for (auto parameter : getOperation().getOps<ParameterOp>())
        if (glob->match(parameter.getSymName())) {
          parameter.setFrozen(true);
          any = true;
        }
      if (!any) {
        getOperation().emitError() << "pattern \"" << pattern << "\" matches no parameter";
        return signalPassFailure();
      }
    }
  }
};

} // namespace
