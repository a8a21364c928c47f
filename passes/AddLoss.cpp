//===- AddLoss.cpp - the loss of a model's scores and given labels --------===//
#include "dialect/GradientOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
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

/// What labels say.
enum class Labels {
  ClassOfToken,
  FlagOfToken, // 0 or 1
  ClassOfSequence,
  NumbersOfSequence,
  TokenOfSequence, // its column
};

/// A summand of a loss: an output, and the input that it is compared with.
struct Term {
  StringRef scores, labels;
  Labels kind;

  bool ofSequences() const {
    return kind == Labels::ClassOfSequence || kind == Labels::NumbersOfSequence;
  }
};

SmallVector<Term> termsOf(ObjectiveKind kind) {
  Term words = {"prediction_logits", "labels", Labels::ClassOfToken};
  switch (kind) {
  case ObjectiveKind::NextToken:
  case ObjectiveKind::MaskedToken:
  case ObjectiveKind::TargetToken:
  case ObjectiveKind::TokenClass:
    return {{"logits", "labels", Labels::ClassOfToken}};
  case ObjectiveKind::Class:
    return {{"logits", "labels", Labels::ClassOfSequence}};
  case ObjectiveKind::MultiLabel:
  case ObjectiveKind::Regression:
    return {{"logits", "labels", Labels::NumbersOfSequence}};
  case ObjectiveKind::Span:
    return {{"start_logits", "start_positions", Labels::TokenOfSequence},
            {"end_logits", "end_positions", Labels::TokenOfSequence}};
  case ObjectiveKind::NextSentence:
    return {words, {"seq_relationship_logits", "next_sentence_label", Labels::ClassOfSequence}};
  case ObjectiveKind::SentenceOrder:
    return {words, {"sop_logits", "sentence_order_label", Labels::ClassOfSequence}};
  case ObjectiveKind::ReplacedToken:
    return {{"logits", "labels", Labels::FlagOfToken}};
  }
  llvm_unreachable("unknown objective");
}

/// The scores of a function, a row a sequence or a token.
struct Scores {
  Value rows;            // null: there is no such output
  UnpackTokensOp unpack; // of tokens: what put the padding back
  PackTokensOp packed;   // and what dropped it
};

Scores scoresOf(func::FuncOp function, const Term &term) {
  Scores scores;
  Operation *end = function.front().getTerminator();
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto name = function.getResultAttrOfType<StringAttr>(i, attr::name);
    if (!name || name.getValue() != term.scores)
      continue;
    Value logits = end->getOperand(i);
    if (term.ofSequences()) {
      if (cast<RankedTensorType>(logits.getType()).getRank() == 2)
        scores.rows = logits;
    } else if ((scores.unpack = logits.getDefiningOp<UnpackTokensOp>())) {
      scores.packed = scores.unpack.getSequences().getDefiningOp<PackTokensOp>();
      if (scores.packed)
        scores.rows = scores.unpack.getX();
    }
  }
  return scores;
}

struct AddLoss : transformer::impl::AddLossPassBase<AddLoss> {
  using Base::Base;
  void runOnOperation() override {
    auto forward = getOperation().lookupSymbol<func::FuncOp>("forward");
    ObjectiveAttr objective = forward ? objectiveOf(forward) : ObjectiveAttr();
    ObjectiveKind kind = objective ? objective.getKind() : ObjectiveKind::TokenClass;
    for (const Term &term : termsOf(kind))
      if (!forward || forward.isExternal() || !scoresOf(forward, term).rows) {
        getOperation().emitError()
            << "has no @forward with an output \"" << term.scores << "\", a row of scores for each "
            << (term.ofSequences() ? "sequence" : "unmasked token");
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

  /// Adds the input of a term's labels.
  FailureOr<Value> addLabels(ImplicitLocOpBuilder &b, func::FuncOp loss, ObjectiveKind kind,
                             const Term &term, Scores &scores) {
    NamedAttrList attributes;
    attributes.append(named(b, term.labels));
    int64_t classes = widthOf(scores.rows);
    SmallVector<int64_t> shape = {ShapedType::kDynamic};
    SmallVector<StringRef> sizes = {"batch"};
    if (term.kind == Labels::NumbersOfSequence &&
        (classes > 1 || kind == ObjectiveKind::MultiLabel)) {
      shape.push_back(classes);
      sizes.push_back("");
    }
    bool areNumbers = term.kind == Labels::NumbersOfSequence;
    Type type =
        RankedTensorType::get(shape, areNumbers ? Type(b.getF32Type()) : Type(b.getI64Type()));
    Attribute dims = b.getStrArrayAttr(sizes);
    if (term.kind == Labels::ClassOfToken || term.kind == Labels::FlagOfToken) {
      type = scores.packed.getMask().getType(); // labels have the mask's sizes
      auto mask = dyn_cast<BlockArgument>(scores.packed.getMask());
      dims = mask ? loss.getArgAttr(mask.getArgNumber(), attr::dims) : Attribute();
    }
    if (dims)
      attributes.append(attr::dims, dims);
    if (term.kind == Labels::FlagOfToken)
      attributes.append(attr::range, b.getDenseI64ArrayAttr({0, 2}));
    if (term.kind == Labels::ClassOfToken || term.kind == Labels::ClassOfSequence) {
      attributes.append(attr::range, b.getDenseI64ArrayAttr({0, classes}));
      attributes.append(attr::ignored, b.getI64IntegerAttr(kIgnored));
    }
    unsigned index = loss.getNumArguments();
    if (failed(loss.insertArgument(index, type, attributes.getDictionary(b.getContext()),
                                   loss.getLoc())))
      return failure();
    return static_cast<Value>(loss.getArgument(index));
  }

  static NamedAttribute named(Builder &b, StringRef name) {
    return b.getNamedAttr(attr::name, b.getStringAttr(name));
  }

  static RankedTensorType scalar(Builder &b) { return RankedTensorType::get({}, b.getF32Type()); }

  /// Without those of padding.
  static Value pack(ImplicitLocOpBuilder &b, Scores &scores, Value labels) {
    auto type = cast<RankedTensorType>(scores.rows.getType());
    auto ids = RankedTensorType::get({type.getDimSize(0)}, b.getI64Type());
    auto sequences = SequencesType::get(b.getContext());
    return PackTokensOp::create(b, TypeRange(ids), sequences, labels, scores.packed.getMask())
        .getPacked()[0];
  }

  /// Padding and label smoothing are about tokens.
  static Value crossEntropy(ImplicitLocOpBuilder &b, const Term &term, ObjectiveAttr objective,
                            Value rows, Value labels) {
    bool isWhole = term.labels == "labels";
    auto padding = isWhole ? objective.getPadding() : std::nullopt;
    double smoothing = isWhole ? objective.getLabelSmoothing().convertToDouble() : 0;
    return CrossEntropyOp::create(b, scalar(b), rows, labels, b.getI64IntegerAttr(kIgnored),
                                  padding ? b.getI64IntegerAttr(*padding) : IntegerAttr(),
                                  b.getF64FloatAttr(smoothing));
  }

  /// The mean loss of a term.
  static Value lossOf(ImplicitLocOpBuilder &b, ObjectiveAttr objective, const Term &term,
                      Scores &scores, Value labels) {
    switch (term.kind) {
    case Labels::ClassOfToken:
      if (objective.getKind() == ObjectiveKind::NextToken)
        labels = ShiftLabelsOp::create(b, labels.getType(), labels, kIgnored);
      return crossEntropy(b, term, objective, scores.rows, pack(b, scores, labels));
    case Labels::ClassOfSequence:
      return crossEntropy(b, term, objective, scores.rows, labels);
    case Labels::FlagOfToken:
      return ElementLossOp::create(b, scalar(b), LossKind::BinaryCrossEntropy, scores.rows,
                                   pack(b, scores, labels));
    case Labels::NumbersOfSequence: {
      bool squared = objective.getKind() == ObjectiveKind::Regression;
      return ElementLossOp::create(b, scalar(b),
                                   squared ? LossKind::Squared : LossKind::BinaryCrossEntropy,
                                   scores.rows, labels);
    }
    case Labels::TokenOfSequence:
      return SpanLossOp::create(b, scalar(b), scores.rows, scores.unpack.getSequences(), labels,
                                scores.unpack.getColumn().value_or(0));
    }
    llvm_unreachable("unknown labels");
  }

  LogicalResult replaceResults(func::FuncOp loss, ObjectiveAttr objective) {
    Operation *end = loss.front().getTerminator();
    ImplicitLocOpBuilder b(end->getLoc(), end);
    Value result;
    for (const Term &term : termsOf(objective.getKind())) {
      Scores scores = scoresOf(loss, term);
      FailureOr<Value> labels = addLabels(b, loss, objective.getKind(), term, scores);
      if (failed(labels))
        return failure();
      Value one = lossOf(b, objective, term, scores, *labels);
      result = result ? Value(arith::AddFOp::create(b, result, one)) : one;
    }
    if (objective.getKind() == ObjectiveKind::Span) {
      auto half = DenseElementsAttr::get(scalar(b), Attribute(b.getF32FloatAttr(0.5)));
      result = arith::MulFOp::create(b, result, arith::ConstantOp::create(b, half));
    }
    llvm::BitVector all(loss.getNumResults(), true);
    if (failed(loss.eraseResults(all)) ||
        failed(loss.insertResult(0, scalar(b), b.getDictionaryAttr(named(b, "loss")))))
      return failure();
    end->setOperands(result);
    return success();
  }
};

} // namespace
