//===- FuseResidualNorm.cpp - residual sum and norm in one ----------------===//
#include "dialect/GradientOps.h"
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

bool isOfWholeRows(LayerNormOp) { return true; }
bool isOfWholeRows(RmsNormOp norm) { return norm.getNumHeads() == 1; }

/// Where the fused op of `norm` can stand: in place of the norm if every other
/// reader of the sum comes later, else in place of the sum if gamma and beta
/// exist there. Null if neither, or if `norm` is not of a sum.
template <typename NormOp> Operation *findInsertion(NormOp norm, DominanceInfo &dominance) {
  auto sum = norm.getX().template getDefiningOp<arith::AddFOp>();
  if (!sum || !isOfWholeRows(norm))
    return nullptr;
  if (llvm::all_of(sum->getUsers(),
                   [&](Operation *user) { return dominance.dominates(norm.getOperation(), user); }))
    return norm;
  if (llvm::all_of(norm->getOperands().drop_front(),
                   [&](Value tensor) { return dominance.properlyDominates(tensor, sum); }))
    return sum;
  return nullptr;
}

template <typename FusedOp, typename NormOp> void fuse(NormOp norm, Operation *insertion) {
  auto sum = norm.getX().template getDefiningOp<arith::AddFOp>();
  Value value = sum.getResult();
  OpBuilder builder(insertion);
  SmallVector<Type> types = {norm.getType()};
  if (!value.hasOneUse())
    types.push_back(value.getType());
  SmallVector<Value> operands = {sum.getLhs(), sum.getRhs()};
  llvm::append_range(operands, norm->getOperands().drop_front()); // gamma, beta
  auto fused =
      FusedOp::create(builder, FusedLoc::get(norm.getContext(), {sum.getLoc(), norm.getLoc()}),
                      types, operands, NamedAttribute(norm.getNormAttrName(), norm.getNorm()));
  norm.getResult().replaceAllUsesWith(fused.getResult());
  norm.erase();
  if (!value.use_empty())
    value.replaceAllUsesWith(fused.getSum());
  sum.erase();
}

/// dx of a norm's gradient and what it is added to, in one.
template <typename GradientOp> bool fuseGradient(GradientOp op, DominanceInfo &dominance) {
  Value dx = op.getDx();
  auto sum = dx.hasOneUse() ? dyn_cast<arith::AddFOp>(*dx.user_begin()) : arith::AddFOp();
  if (!sum || op.getOnto())
    return false;
  Value other = sum.getLhs() == dx ? sum.getRhs() : sum.getLhs();
  if (!dominance.properlyDominates(other, op))
    return false;
  op.getOntoMutable().assign(other);
  op->setLoc(FusedLoc::get(op.getContext(), {op.getLoc(), sum.getLoc()}));
  sum.replaceAllUsesWith(dx);
  sum.erase();
  return true;
}

struct FuseResidualNorm : transformer::impl::FuseResidualNormPassBase<FuseResidualNorm> {
  void runOnOperation() override {
    auto &dominance = getAnalysis<DominanceInfo>(); // blocks do not change
    fuseAll<LayerNormOp, ResidualLayerNormOp>(dominance);
    fuseAll<RmsNormOp, ResidualRmsNormOp>(dominance);
    fuseGradients<LayerNormGradientOp>(dominance);
    fuseGradients<RmsNormGradientOp>(dominance);
  }

  template <typename GradientOp> void fuseGradients(DominanceInfo &dominance) {
    rewriteInRounds<GradientOp>(getOperation(),
                                [&](GradientOp op) { return fuseGradient(op, dominance); });
  }

  template <typename NormOp, typename FusedOp> void fuseAll(DominanceInfo &dominance) {
    rewriteInRounds<NormOp>(getOperation(), [&](NormOp norm) {
      Operation *insertion = findInsertion(norm, dominance);
      if (insertion)
        fuse<FusedOp>(norm, insertion);
      return insertion != nullptr;
    });
  }
};

} // namespace
