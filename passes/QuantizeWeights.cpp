//===- QuantizeWeights.cpp - weights of linear layers in a narrow format --===//
#include "dialect/QuantizeOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Passes.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_QUANTIZEWEIGHTSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

struct QuantizeWeights : transformer::impl::QuantizeWeightsPassBase<QuantizeWeights> {
  using Base::Base;
  void runOnOperation() override {
    if (format == "f32")
      return;
    std::optional<WeightFormat> found = symbolizeWeightFormat(format.getValue());
    if (!found) {
      getOperation().emitError("weight format \"" + format.getValue() +
                               "\": expected f32, bf16, int8 or int4");
      return signalPassFailure();
    }
    getOperation().walk([&](LinearOp op) {
      Value weight = op.getWeight();
      if (weight.getDefiningOp<QuantizeWeightOp>())
        return;
      OpBuilder b(op);
      op.getWeightMutable().assign(
          QuantizeWeightOp::create(b, op.getLoc(), weight, *found, op.getLayout()));
    });
  }
};

} // namespace
