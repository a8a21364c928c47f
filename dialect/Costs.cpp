//===- Costs.cpp - the matrix products of ops -----------------------------===//
#include "dialect/GradientOps.h"
#include "dialect/TransformerDialect.h"

using namespace mlir;
using namespace mlir::transformer;

using Costs = SmallVectorImpl<Cost>;

RowOrigin PackTokensOp::getRowOrigin() { return RowOrigin::Mask; }
RowOrigin LabelledTokensOp::getRowOrigin() { return RowOrigin::Mask; }

RowOrigin UniformSequencesOp::getRowOrigin() { return RowOrigin::Fixed; }
RowOrigin WindowsOp::getRowOrigin() { return RowOrigin::Result; }

/// How many rows have a label a batch says; at most all have.
RowOrigin FirstTokenOp::getRowOrigin() {
  bool isOfLabels = getSequences().getDefiningOp<LabelledTokensOp>();
  return isOfLabels ? RowOrigin::Operands : RowOrigin::Sequences;
}
RowOrigin LastTokenOp::getRowOrigin() { return RowOrigin::Sequences; }

/// A multiplication and an addition for each weight and row.
static Cost linearCost(Value weight, Value rows) {
  return {2 * cast<RankedTensorType>(weight.getType()).getNumElements(), rows};
}

/// Scores and weighted values: two products of `width` for each pair.
static Cost attentionCost(int64_t width, Value queries, Value keys, bool causal) {
  return {4 * width, queries, keys, causal};
}

/// `group`: weight and bias of q, k, v and the output.
static void addAttention(OperandRange group, Value x, Value memory, Cost pairs, Costs &costs) {
  for (unsigned i = 0; i < 4; ++i)
    costs.push_back(linearCost(group[2 * i], i == 1 || i == 2 ? memory : x));
  costs.push_back(pairs);
}

/// The outputs of an `[out, in]` weight.
static int64_t outputsOf(Value weight) {
  return cast<RankedTensorType>(weight.getType()).getDimSize(0);
}

void LinearOp::getCosts(Costs &costs) { costs.push_back(linearCost(getWeight(), getX())); }

void LinearWeightGradientOp::getCosts(Costs &costs) {
  costs.push_back({2 * widthOf(getX()) * widthOf(getDy()), getX()});
}

RowOrigin WindowsGradientOp::getRowOrigin() { return RowOrigin::Result; }
RowOrigin TokenGradientOp::getRowOrigin() { return RowOrigin::Result; }

void RelativeScoresGradientOp::getCosts(Costs &costs) {
  costs.append(2, linearCost(getTable(), getX()));
}

/// Scores, the gradients of P, and those of queries, keys and values.
void AttentionGradientOp::getCosts(Costs &costs) {
  Cost forward = attentionCost(widthOf(getQ()), getQuerySequences(), getKeySequences(),
                               getOptions().getCausal());
  forward.flops = forward.flops / 2 * 5;
  costs.push_back(forward);
}

void RelativeScoresOp::getCosts(Costs &costs) { costs.push_back(linearCost(getTable(), getX())); }

void AttentionOp::getCosts(Costs &costs) {
  costs.push_back(
      attentionCost(widthOf(getQ()), getQuerySequences(), getKeySequences(), isCausal()));
}

void MultiHeadAttentionOp::getCosts(Costs &costs) {
  Value memory = getMemory() ? getMemory() : getX();
  for (auto [i, weight] : llvm::enumerate(getWeights()))
    costs.push_back(linearCost(weight, i == 1 || i == 2 ? memory : getX()));
  auto type = cast<RankedTensorType>(getWeights()[0].getType());
  Value keys = getMemory() ? getMemorySequences() : getSequences();
  costs.push_back(attentionCost(type.getDimSize(getLayout() == WeightLayout::OutIn ? 0 : 1),
                                getSequences(), keys, getOptions().getCausal()));
}

void FeedForwardOp::getCosts(Costs &costs) {
  for (Value weight : getWeights())
    costs.push_back(linearCost(weight, getX()));
}

void EncoderLayerOp::getCosts(Costs &costs) {
  addAttention(getAttention(), getX(), getX(),
               attentionCost(outputsOf(getAttention()[0]), getSequences(), getSequences(),
                             getOptions().getCausal()),
               costs);
  for (unsigned i : {0, 2})
    costs.push_back(linearCost(getFfn()[i], getX()));
}

void DecoderLayerOp::getCosts(Costs &costs) {
  addAttention(getSelfAttention(), getX(), getX(),
               attentionCost(outputsOf(getSelfAttention()[0]), getSequences(), getSequences(),
                             /*causal=*/true),
               costs);
  addAttention(getCrossAttention(), getX(), getMemory(),
               attentionCost(outputsOf(getCrossAttention()[0]), getSequences(),
                             getMemorySequences(), /*causal=*/false),
               costs);
  for (unsigned i : {0, 2})
    costs.push_back(linearCost(getFfn()[i], getX()));
}
