//===- FuseResidualNorm.cpp - residual sum and norm in one ----------------===//
#include "dialect/TransformerDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Dominance.h"
#include "passes/Passes.h"
#include "passes/Rounds.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_FUSERESIDUALNORMPASS
#include "passes/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Where the fused op of `norm` can stand: in place of the norm if every other
/// reader of the sum comes later, else in place of the sum if gamma and beta
/// exist there. Null if neither, or if `norm` is not of a sum.
Operation *findInsertion(LayerNormOp norm, DominanceInfo &dominance) {
  auto sum = norm.getX().getDefiningOp<arith::AddFOp>();
  if (!sum)
    return nullptr;
  if (llvm::all_of(sum->getUsers(),
                   [&](Operation *user) { return dominance.dominates(norm.getOperation(), user); }))
    return norm;
  if (dominance.properlyDominates(norm.getGamma(), sum) &&
      dominance.properlyDominates(norm.getBeta(), sum))
    return sum;
  return nullptr;
}

void fuse(LayerNormOp norm, Operation *insertion) {
  auto sum = norm.getX().getDefiningOp<arith::AddFOp>();
  Value value = sum.getResult();
  OpBuilder builder(insertion);
  auto fused = ResidualLayerNormOp::create(
      builder, FusedLoc::get(norm.getContext(), {sum.getLoc(), norm.getLoc()}), norm.getType(),
      value.hasOneUse() ? Type() : value.getType(), sum.getLhs(), sum.getRhs(), norm.getGamma(),
      norm.getBeta(), norm.getEpsAttr(), norm.getUnbiasedAttr(), norm.getEpsOutsideAttr());
  fused->setDiscardableAttrs(norm->getDiscardableAttrDictionary());
  norm.getResult().replaceAllUsesWith(fused.getResult());
  norm.erase();
  if (!value.use_empty())
    value.replaceAllUsesWith(fused.getSum());
  sum.erase();
}

struct FuseResidualNorm : transformer::impl::FuseResidualNormPassBase<FuseResidualNorm> {
  void runOnOperation() override {
    auto &dominance = getAnalysis<DominanceInfo>(); // blocks do not change
    rewriteInRounds<LayerNormOp>(getOperation(), [&](LayerNormOp norm) {
      Operation *insertion = findInsertion(norm, dominance);
      if (insertion)
        fuse(norm, insertion);
      return insertion != nullptr;
    });
  }
};

} // namespace
