//===- MergeQkv.cpp - one projection for queries, keys and values ---------===//
#include "dialect/QuantizeOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "passes/Passes.h"
#include "passes/Rounds.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_MERGEQKVPASS
#include "passes/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Linears that one product can replace, in the order q, k, v, and the op
/// before which it can stand. Empty if there are none.
struct Group {
  SmallVector<LinearOp> linears;
  Operation *insertion = nullptr;
  explicit operator bool() const { return insertion != nullptr; }
};

/// What a weight is rounded to; none: it is not.
std::optional<WeightFormat> formatOf(LinearOp op) {
  auto rounded = op.getWeight().getDefiningOp<QuantizeWeightOp>();
  return rounded ? std::optional(rounded.getFormat()) : std::nullopt;
}

bool areAlike(LinearOp a, LinearOp b) {
  auto rows = [](LinearOp op) { return cast<RankedTensorType>(op.getType()).getDimSize(0); };
  return a.getX() == b.getX() && a.getLayout() == b.getLayout() && !a.getBias() == !b.getBias() &&
         rows(a) == rows(b) && formatOf(a) == formatOf(b) && a->getBlock() == b->getBlock() &&
         a->getDiscardableAttrDictionary() == b->getDiscardableAttrDictionary();
}

/// A place after every operand and before every use of `linears`: just before
/// the last or the first of them. Null if neither is one.
Operation *findInsertion(ArrayRef<LinearOp> linears, DominanceInfo &dominance) {
  Operation *first = linears.front(), *last = linears.front();
  for (LinearOp linear : linears) {
    if (linear->isBeforeInBlock(first))
      first = linear;
    if (last->isBeforeInBlock(linear))
      last = linear;
  }
  if (llvm::all_of(linears, [&](LinearOp linear) {
        return llvm::all_of(linear->getUsers(), [&](Operation *user) {
          return dominance.properlyDominates(last, user);
        });
      }))
    return last;
  if (llvm::all_of(linears, [&](LinearOp linear) {
        return llvm::all_of(linear->getOperands(), [&](Value operand) {
          return dominance.properlyDominates(operand, first);
        });
      }))
    return first;
  return nullptr;
}

/// The projection that `value` is; queries and keys may have been rotated.
LinearOp projectionOf(Value value) {
  if (auto rotary = value.getDefiningOp<RotaryEmbeddingOp>())
    value = rotary.getX();
  return value.getDefiningOp<LinearOp>();
}

SmallVector<Value> projectedFor(AttentionOp op) { return {op.getQ(), op.getK(), op.getV()}; }

/// The queries that read a cache, and the keys and values that enter it before.
SmallVector<Value> projectedFor(AppendPagesOp op) {
  SmallVector<Value> values;
  for (Operation *user : op.getResult().getUsers())
    if (auto attention = dyn_cast<PagedAttentionOp>(user))
      values.push_back(attention.getQ());
  values.append({op.getK(), op.getV()});
  return values;
}

/// The largest group of these projections that can be merged.
Group findGroup(ArrayRef<Value> projected, DominanceInfo &dominance) {
  SmallVector<LinearOp> linears;
  for (Value value : projected)
    if (LinearOp linear = projectionOf(value))
      if (!llvm::is_contained(linears, linear))
        linears.push_back(linear);
  Group best;
  for (LinearOp head : linears) {
    SmallVector<LinearOp> alike =
        llvm::filter_to_vector(linears, [&](LinearOp other) { return areAlike(head, other); });
    if (alike.size() < 2 || alike.size() <= best.linears.size())
      continue;
    if (Operation *insertion = findInsertion(alike, dominance))
      best = {alike, insertion};
  }
  return best;
}

void merge(Group &group) {
  LinearOp head = group.linears.front();
  SmallVector<Location> locations;
  SmallVector<Value> weights, biases;
  SmallVector<Type> types;
  int64_t width = 0;
  for (LinearOp linear : group.linears) {
    locations.push_back(linear.getLoc());
    auto rounded = linear.getWeight().getDefiningOp<QuantizeWeightOp>();
    weights.push_back(rounded ? rounded.getWeight() : linear.getWeight());
    if (linear.getBias())
      biases.push_back(linear.getBias());
    types.push_back(linear.getType());
    width += widthOf(linear.getResult());
  }
  ImplicitLocOpBuilder builder(FusedLoc::get(head.getContext(), locations), group.insertion);
  int64_t dim = head.getLayout() == WeightLayout::OutIn ? 0 : 1;
  Value weight = tensor::ConcatOp::create(builder, dim, weights);
  if (auto format = formatOf(head)) // scales belong to outputs
    weight = QuantizeWeightOp::create(builder, weight, *format, head.getLayout());
  Value bias = biases.empty() ? Value() : Value(tensor::ConcatOp::create(builder, 0, biases));
  auto rows = cast<RankedTensorType>(types.front());
  auto merged = LinearOp::create(
      builder, RankedTensorType::get({rows.getDimSize(0), width}, rows.getElementType()),
      head.getX(), weight, bias, head.getLayoutAttr());
  merged->setDiscardableAttrs(head->getDiscardableAttrDictionary());
  auto split = SplitOp::create(builder, types, merged.getResult());
  for (auto [linear, result] : llvm::zip_equal(group.linears, split.getResults())) {
    linear.getResult().replaceAllUsesWith(result);
    linear.erase();
  }
}

struct MergeQkv : transformer::impl::MergeQkvPassBase<MergeQkv> {
  void runOnOperation() override {
    // Within a block only; the blocks themselves do not change.
    auto &dominance = getAnalysis<DominanceInfo>();
    auto rewrite = [&](auto op) {
      Group group = findGroup(projectedFor(op), dominance);
      if (group)
        merge(group);
      return bool(group);
    };
    rewriteInRounds<AttentionOp>(getOperation(), rewrite);
    rewriteInRounds<AppendPagesOp>(getOperation(), rewrite);
  }
};

} // namespace
