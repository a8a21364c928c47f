//===- SeparateWeights.cpp - merged weights packed one by one -------------===//
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/dialect/CpuDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_SEPARATEWEIGHTS
#include "codegen/cpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// The weights of a concatenation of outputs one by one; for panels, where they fall into whole
/// ones.
template <typename OpTy> void separateWeights(OpTy op, int64_t columns) {
  unsigned outputDim = op.getLayout() == WeightLayout::OutIn ? 0 : 1;
  SmallVector<Value> weights;
  for (Value weight : op.getWeights()) {
    auto concat = weight.getDefiningOp<tensor::ConcatOp>();
    auto isWhole = [&](Value input) {
      return cast<RankedTensorType>(input.getType()).getDimSize(outputDim) % columns == 0;
    };
    if (concat && concat.getDim() == outputDim &&
        llvm::all_of(concat.getInputs().drop_back(), isWhole))
      llvm::append_range(weights, concat.getInputs());
    else
      weights.push_back(weight);
  }
  op.getWeightsMutable().assign(weights);
}

struct SeparateWeightsPass : mlir::transformer::impl::SeparateWeightsBase<SeparateWeightsPass> {
  using Base::Base;
  void runOnOperation() override {
    getOperation()->walk([](cpu::PackWeightOp op) {
      separateWeights(op, cast<RankedTensorType>(op.getOuts()[0].getType()).getShape().back());
    });
    getOperation()->walk([](cpu::WeightScalesOp op) {
      separateWeights(op, cast<RankedTensorType>(op.getOuts()[0].getType()).getShape().back());
    });
    getOperation()->walk([](cpu::WinogradScalesOp op) { separateWeights(op, 1); });
  }
};

} // namespace
