//===- Objective.cpp - what a Hugging Face head is trained for ------------===//
#include "models/Family.h"

using namespace mlir;
using namespace mlir::transformer;

void transformer::noteOtherDropping(Import &import) {
  Config &config = import.config;
  auto note = [&](StringRef key) {
    import.model.setAttribute(attr::otherDropping, StringAttr::get(import.model.getContext(), key));
  };
  for (StringRef key : {"layerdrop", "encoder_layerdrop", "decoder_layerdrop"})
    if (config.number({key}, 0) > 0)
      note(key);
  if (config.flag({"apply_spec_augment"}, false))
    note("apply_spec_augment");
}

void transformer::setObjective(Import &import) {
  StringRef head = import.head;
  std::optional<ObjectiveKind> kind;
  if (head == "LMHeadModel" || head == "ForCausalLM")
    kind = ObjectiveKind::NextToken;
  else if (head == "ForMaskedLM")
    kind = ObjectiveKind::MaskedToken;
  else if (head == "ForConditionalGeneration")
    kind = ObjectiveKind::TargetToken;
  else if (head == "ForTokenClassification")
    kind = ObjectiveKind::TokenClass;
  else if (head == "ForQuestionAnswering")
    kind = ObjectiveKind::Span;
  else if (head == "ForSequenceClassification" || head == "ForImageClassification") {
    // transformers decides by the labels' type where nothing is said, which nobody knows here.
    std::string type = import.config.text({"problem_type"}, "");
    if (type == "regression" || (type.empty() && import.config.labels() == 1))
      kind = ObjectiveKind::Regression;
    else if (type == "multi_label_classification")
      kind = ObjectiveKind::MultiLabel;
    else if (type.empty() || type == "single_label_classification")
      kind = ObjectiveKind::Class;
  }
  if (kind)
    import.model.setObjective(ObjectiveAttr::get(import.model.getContext(), *kind));
}
