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

/// The scores of a function, a row a label.
struct Scores {
  Value rows;          // null: there is no output "logits" of this kind
  PackTokensOp packed; // of tokens: what dropped the padding
};

Scores scoresOf(func::FuncOp function, ObjectiveAttr objective) {
  Scores scores;
  Operation *end = function.front().getTerminator();
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto name = function.getResultAttrOfType<StringAttr>(i, attr::name);
    if (!name || name.getValue() != "logits")
      continue;
    Value logits = end->getOperand(i);
    if (labelsSequences(objective.getKind())) {
      if (cast<RankedTensorType>(logits.getType()).getRank() == 2)
        scores.rows = logits;
    } else if (auto unpack = logits.getDefiningOp<UnpackTokensOp>()) {
      scores.packed = unpack.getSequences().getDefiningOp<PackTokensOp>();
      if (scores.packed)
        scores.rows = unpack.getX();
    }
  }
  return scores;
}

struct AddLoss : transformer::impl::AddLossPassBase<AddLoss> {
  using Base::Base;
  void runOnOperation() override {
    auto forward = getOperation().lookupSymbol<func::FuncOp>("forward");
    ObjectiveAttr objective = forward ? objectiveOf(forward) : ObjectiveAttr();
    if (!forward || forward.isExternal() || !scoresOf(forward, objective).rows) {
      getOperation().emitError() << "has no @forward with an output \"logits\", "
                                 << (objective && labelsSequences(objective.getKind())
                                         ? "a row of scores for each sequence"
                                         : "a row of scores for each unmasked token");
      return signalPassFailure();
    }
    func::FuncOp loss = forward.clone();
    loss.setName("loss");
    loss->setAttr(attr::objective, objective);
    SymbolTable symbols(getOperation());
    symbols.insert(loss, std::next(Block::iterator(forward)));
    if (failed(replaceResults(loss, objective)))
      return signalPassFailure();
    if (evaluation.empty())
      return;
    func::FuncOp other = loss.clone();
    other.setName(evaluation);
    symbols.insert(other, std::next(Block::iterator(loss)));
  }

private:
  /// What the function says; without a word the next token where a model generates from its scores.
  ObjectiveAttr objectiveOf(func::FuncOp forward) {
    if (auto given = forward->getAttrOfType<ObjectiveAttr>(attr::objective))
      return given;
    auto isDecoder = [&](unsigned i) {
      auto name = forward.getArgAttrOfType<StringAttr>(i, attr::name);
      return name && name.getValue() == "decoder_input_ids";
    };
    bool generates = getOperation().lookupSymbol("step") &&
                     llvm::none_of(llvm::seq(forward.getNumArguments()), isDecoder);
    return ObjectiveAttr::get(&getContext(),
                              generates ? ObjectiveKind::NextToken : ObjectiveKind::TokenClass);
  }

  /// Adds the input `labels`.
  FailureOr<Value> addLabels(ImplicitLocOpBuilder &b, func::FuncOp loss, ObjectiveKind kind,
                             Scores &scores) {
    SmallVector<NamedAttribute> ofLabels = {named(b, "labels")};
    unsigned index = loss.getNumArguments();
    auto add = [&](Type type) -> FailureOr<Value> {
      if (failed(loss.insertArgument(index, type, b.getDictionaryAttr(ofLabels), loss.getLoc())))
        return failure();
      return static_cast<Value>(loss.getArgument(index));
    };
    int64_t classes = widthOf(scores.rows);
    SmallVector<int64_t> shape = {ShapedType::kDynamic};
    Attribute dims = b.getStrArrayAttr({"batch"});
    if (labelsNumbers(kind)) {
      if (classes > 1 || kind == ObjectiveKind::MultiLabel) {
        shape.push_back(classes);
        dims = b.getStrArrayAttr({"batch", ""});
      }
      ofLabels.push_back(b.getNamedAttr(attr::dims, dims));
      return add(RankedTensorType::get(shape, b.getF32Type()));
    }
    Type type = RankedTensorType::get(shape, b.getI64Type());
    if (scores.packed) { // labels have the mask's sizes
      type = scores.packed.getMask().getType();
      auto mask = dyn_cast<BlockArgument>(scores.packed.getMask());
      dims = mask ? loss.getArgAttr(mask.getArgNumber(), attr::dims) : Attribute();
    }
    if (dims)
      ofLabels.push_back(b.getNamedAttr(attr::dims, dims));
    ofLabels.push_back(b.getNamedAttr(attr::range, b.getDenseI64ArrayAttr({0, classes})));
    ofLabels.push_back(b.getNamedAttr(attr::ignored, b.getI64IntegerAttr(kIgnored)));
    return add(type);
  }

  static NamedAttribute named(Builder &b, StringRef name) {
    return b.getNamedAttr(attr::name, b.getStringAttr(name));
  }

  static Value crossEntropy(ImplicitLocOpBuilder &b, ObjectiveAttr objective, Scores &scores,
                            Value labels) {
    if (objective.getKind() == ObjectiveKind::NextToken)
      labels = ShiftLabelsOp::create(b, labels.getType(), labels, kIgnored);
    if (scores.packed) {
      auto type = cast<RankedTensorType>(scores.rows.getType());
      auto ids = RankedTensorType::get({type.getDimSize(0)}, b.getI64Type());
      auto sequences = SequencesType::get(b.getContext());
      labels = PackTokensOp::create(b, TypeRange(ids), sequences, labels, scores.packed.getMask())
                   .getPacked()[0];
    }
    auto padding = objective.getPadding();
    return CrossEntropyOp::create(
        b, RankedTensorType::get({}, b.getF32Type()), scores.rows, labels,
        b.getI64IntegerAttr(kIgnored), padding ? b.getI64IntegerAttr(*padding) : IntegerAttr(),
        b.getF64FloatAttr(objective.getLabelSmoothing().convertToDouble()));
  }

  LogicalResult replaceResults(func::FuncOp loss, ObjectiveAttr objective) {
    Scores scores = scoresOf(loss, objective);
    ObjectiveKind kind = objective.getKind();
    Operation *end = loss.front().getTerminator();
    ImplicitLocOpBuilder b(end->getLoc(), end);
    FailureOr<Value> labels = addLabels(b, loss, kind, scores);
    if (failed(labels))
      return failure();
    auto scalar = RankedTensorType::get({}, b.getF32Type());
    Value result;
    if (labelsNumbers(kind))
      result = ElementLossOp::create(
          b, scalar,
          kind == ObjectiveKind::Regression ? LossKind::Squared : LossKind::BinaryCrossEntropy,
          scores.rows, *labels);
    else
      result = crossEntropy(b, objective, scores, *labels);
    llvm::BitVector all(loss.getNumResults(), true);
    if (failed(loss.eraseResults(all)) ||
        failed(loss.insertResult(0, scalar, b.getDictionaryAttr(named(b, "loss")))))
      return failure();
    end->setOperands(result);
    return success();
  }
};

} // namespace
