//===- ScaleLoss.cpp - gradients of a loss times a number -----------------===//
#include "dialect/TransformerDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Passes.h"
#include "passes/StepFunctions.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_SCALELOSSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

struct ScaleLoss : transformer::impl::ScaleLossPassBase<ScaleLoss> {
  using Base::Base;
  void runOnOperation() override {
    auto gradients = getOperation().lookupSymbol<func::FuncOp>(function);
    SmallVector<OpOperand *> dlosses;
    if (gradients && !gradients.isExternal())
      for (Operation &op : gradients.front())
        if (OpOperand *dloss = dlossOf(&op))
          dlosses.push_back(dloss);
    if (dlosses.empty()) {
      getOperation().emitError() << "has no function @" << function
                                 << " of a loss and gradients; run transformer-differentiate first";
      return signalPassFailure();
    }
    Builder builder(&getContext());
    unsigned index = gradients.getNumArguments();
    if (failed(gradients.insertArgument(index, RankedTensorType::get({}, builder.getF32Type()),
                                        named(builder, attr::name, kLossScale),
                                        gradients.getLoc())))
      return signalPassFailure();
    for (OpOperand *dloss : dlosses) {
      ImplicitLocOpBuilder b(dloss->getOwner()->getLoc(), dloss->getOwner());
      dloss->set(arith::MulFOp::create(b, dloss->get(), gradients.getArgument(index)));
    }
  }
};

} // namespace
