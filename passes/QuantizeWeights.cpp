//===- QuantizeWeights.cpp - linear layers on numbers of narrow formats ---===//
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
    if (activations != "f32" && activations != "int8") {
      getOperation().emitError("activations \"" + activations.getValue() +
                               "\": expected f32 or int8");
      return signalPassFailure();
    }
    getOperation().walk([&](LinearOp op) {
      Value weight = op.getWeight();
      if (!weight.getDefiningOp<QuantizeWeightOp>()) {
        OpBuilder b(op);
        weight = QuantizeWeightOp::create(b, op.getLoc(), weight, *found, op.getLayout());
        op.getWeightMutable().assign(weight);
      }
      if (activations == "int8" &&
          weight.getDefiningOp<QuantizeWeightOp>().getFormat() != WeightFormat::Bf16)
        quantizeRows(op);
    });
  }

private:
  /// Once for all that read these rows: where they are made.
  static void quantizeRows(LinearOp op) {
    Value x = op.getX();
    if (x.getDefiningOp<QuantizeRowsOp>())
      return;
    OpBuilder b(op);
    b.setInsertionPointAfterValue(x);
    QuantizeRowsOp rounded;
    for (Operation *user : x.getUsers())
      if (auto other = dyn_cast<QuantizeRowsOp>(user); other && other->getBlock() == b.getBlock())
        rounded = other;
    if (!rounded)
      rounded = QuantizeRowsOp::create(b, op.getLoc(), x);
    op.getXMutable().assign(rounded);
  }
};

} // namespace
