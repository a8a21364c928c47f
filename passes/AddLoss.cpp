//===- AddLoss.cpp - the loss of a model's scores and given labels --------===//
#include "dialect/GradientOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"
#include "passes/Passes.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_ADDLOSSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

constexpr int64_t kIgnored = -100; // a label that does not count

/// The scores of `function`, a row a token, or null.
UnpackTokensOp scoresOf(func::FuncOp function) {
  Operation *end = function.front().getTerminator();
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto name = function.getResultAttrOfType<StringAttr>(i, attr::name);
    if (name && name.getValue() == "logits")
      return end->getOperand(i).getDefiningOp<UnpackTokensOp>();
  }
  return {};
}

struct AddLoss : transformer::impl::AddLossPassBase<AddLoss> {
  using Base::Base;
  void runOnOperation() override {
    auto forward = getOperation().lookupSymbol<func::FuncOp>("forward");
    UnpackTokensOp scores = forward && !forward.isExternal() ? scoresOf(forward) : UnpackTokensOp();
    if (!scores || !scores.getSequences().getDefiningOp<PackTokensOp>()) {
      getOperation().emitError()
          << "has no @forward with an output \"logits\", a row of scores for "
             "each unmasked token";
      return signalPassFailure();
    }
    if (shift != "auto" && shift != "true" && shift != "false") {
      getOperation().emitError() << "shift \"" << shift << "\": expected true, false or auto";
      return signalPassFailure();
    }
    func::FuncOp loss = forward.clone();
    loss.setName("loss");
    SymbolTable(getOperation()).insert(loss, std::next(Block::iterator(forward)));
    if (failed(replaceResults(loss)))
      signalPassFailure();
  }

private:
  /// Whether the scores of a token are those of its successor.
  bool generates(func::FuncOp loss) {
    auto isDecoder = [&](unsigned i) {
      auto name = loss.getArgAttrOfType<StringAttr>(i, attr::name);
      return name && name.getValue() == "decoder_input_ids";
    };
    return getOperation().lookupSymbol("step") &&
           llvm::none_of(llvm::seq(loss.getNumArguments()), isDecoder);
  }

  LogicalResult replaceResults(func::FuncOp loss) {
    UnpackTokensOp scores = scoresOf(loss);
    auto packed = scores.getSequences().getDefiningOp<PackTokensOp>();
    Operation *end = loss.front().getTerminator();
    ImplicitLocOpBuilder b(end->getLoc(), end);
    auto named = [&](StringRef name) { return b.getNamedAttr(attr::name, b.getStringAttr(name)); };
    SmallVector<NamedAttribute> ofLabels = {named("labels")};
    if (auto mask = dyn_cast<BlockArgument>(packed.getMask())) // labels have its sizes
      if (Attribute dims = loss.getArgAttr(mask.getArgNumber(), attr::dims))
        ofLabels.push_back(b.getNamedAttr(attr::dims, dims));
    int64_t classes = widthOf(scores.getX());
    ofLabels.push_back(b.getNamedAttr(attr::range, b.getDenseI64ArrayAttr({0, classes})));
    ofLabels.push_back(b.getNamedAttr(attr::ignored, b.getI64IntegerAttr(kIgnored)));
    unsigned index = loss.getNumArguments();
    if (failed(loss.insertArgument(index, packed.getMask().getType(), b.getDictionaryAttr(ofLabels),
                                   loss.getLoc())))
      return failure();
    Value labels = loss.getArgument(index);
    if (shift == "true" || (shift == "auto" && generates(loss)))
      labels = ShiftLabelsOp::create(b, labels.getType(), labels, kIgnored);
    Value rows = scores.getX();
    auto ids = RankedTensorType::get({cast<RankedTensorType>(rows.getType()).getDimSize(0)},
                                     b.getI64Type());
    auto ofTokens = PackTokensOp::create(b, TypeRange(ids), SequencesType::get(b.getContext()),
                                         labels, packed.getMask());
    auto scalar = RankedTensorType::get({}, b.getF32Type());
    Value result = CrossEntropyOp::create(b, scalar, rows, ofTokens.getPacked()[0], kIgnored,
                                          llvm::APFloat(0.0));
    llvm::BitVector all(loss.getNumResults(), true);
    if (failed(loss.eraseResults(all)) ||
        failed(loss.insertResult(0, scalar, b.getDictionaryAttr(named("loss")))))
      return failure();
    end->setOperands(result);
    return success();
  }
};

} // namespace
