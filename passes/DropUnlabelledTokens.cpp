//===- DropUnlabelledTokens.cpp - no scores where no label counts ---------===//
#include "dialect/GradientOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/EarlyChoice.h"
#include "passes/Passes.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_DROPUNLABELLEDTOKENSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Where the labels of a loss enter: packed, and perhaps shifted before.
struct Labels {
  PackTokensOp pack;
  ShiftLabelsOp shift; // null: they are not
  Value grid;

  static std::optional<Labels> of(CrossEntropyOp loss) {
    auto result = dyn_cast<OpResult>(loss.getLabels());
    auto pack = result ? dyn_cast<PackTokensOp>(result.getOwner()) : nullptr;
    if (!pack)
      return {};
    Value grid = pack.getInputs()[result.getResultNumber()];
    auto shift = grid.getDefiningOp<ShiftLabelsOp>();
    if (shift && shift.getIgnoreIndexAttr() == loss.getIgnoreIndexAttr())
      grid = shift.getLabels();
    // How many labels count decides sizes of buffers, which inputs have to tell.
    if (!isa<BlockArgument>(grid) || !isa<BlockArgument>(pack.getMask()) ||
        pack->getBlock() != loss->getBlock())
      return {};
    return Labels{pack, shift, grid};
  }
};

/// What makes a mask's tokens, in front of all that is made of them.
PackTokensOp firstPack(Block &block, Value mask) {
  auto packs = block.getOps<PackTokensOp>();
  return *llvm::find_if(packs, [&](PackTokensOp pack) { return pack.getMask() == mask; });
}

struct DropUnlabelledTokens
    : transformer::impl::DropUnlabelledTokensPassBase<DropUnlabelledTokens> {
  void runOnOperation() override {
    SmallVector<CrossEntropyOp> losses;
    getOperation().walk([&](CrossEntropyOp op) { losses.push_back(op); });
    for (CrossEntropyOp loss : losses)
      drop(loss);
  }

private:
  static void drop(CrossEntropyOp loss) {
    std::optional<Labels> labels = Labels::of(loss);
    Value logits = loss.getLogits();
    if (!labels || !cast<RankedTensorType>(loss.getLabels().getType()).isDynamicDim(0))
      return;
    PackTokensOp tokens = firstPack(*loss->getBlock(), labels->pack.getMask());
    ImplicitLocOpBuilder b(loss.getLoc(), loss);
    b.setInsertionPointAfter(tokens);
    auto counted = LabelledTokensOp::create(
        b, TypeRange{loss.getLabels().getType(), SequencesType::get(b.getContext())}, labels->grid,
        tokens.getSequences(), tokens.getMask(), loss.getIgnoreIndexAttr(),
        loss.getPaddingIndexAttr(), labels->shift ? b.getUnitAttr() : UnitAttr());
    b.setInsertionPoint(loss);
    auto choice = FirstTokenOp::create(b, logits.getType(), logits, counted.getSpans());
    loss.getLogitsMutable().assign(choice);
    bool isEarly = !chooseEarly(choice).ops.empty();
    choice.replaceAllUsesWith(logits);
    choice.erase();
    if (!isEarly) // nothing has fewer rows
      return counted.erase();
    loss.getLabelsMutable().assign(counted.getCounted());
    if (labels->pack.use_empty())
      labels->pack.erase();
  }
};

} // namespace
