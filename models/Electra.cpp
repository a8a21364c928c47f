//===- Electra.cpp - ELECTRA (Clark et al. 2020) --------------------------===//
#include "models/BertLike.h"

using namespace mlir;
using namespace mlir::transformer;

static const MaskedLmNames maskedLmNames = {
    "generator_predictions.dense", "generator_predictions.LayerNorm", "generator_lm_head",
    "generator_lm_head.bias", "electra.embeddings.word_embeddings"};

void transformer::buildElectra(Import &import) {
  Config &config = import.config;
  BertConfig electra =
      BertConfig::read(config, {.width = 256, .heads = 4, .ffnWidth = 1024, .embeddingWidth = 128});
  int64_t labels = readLabels(import);
  StringRef head = import.head;
  if (!config.ok())
    return;

  ModelBuilder &model = import.model;
  bool baseModel = head == "Model";
  model.aliases = bertAliases("electra.", !baseModel);
  if (head == "ForMaskedLM")
    declareTiedEmbedding(model, electra, maskedLmNames);
  BertEncoder encoder = buildBertEncoder(model, electra, baseModel ? "" : "electra.",
                                         {electra.positions, model.missing(DefaultKind::Columns)});
  auto [hidden, sequences] = encoder;

  Body &body = model.entry();
  if (baseModel)
    return buildLastHiddenState(import, encoder, electra.positions);
  // This head's activation is gelu, whatever hidden_act says.
  if (head == "ForMaskedLM")
    buildMaskedLm(model, electra, ActivationKind::Gelu, maskedLmNames, encoder);
  if (head == "ForPreTraining") { // of each token whether it was replaced
    Value dense = body.linear(hidden, "discriminator_predictions.dense", electra.width);
    Value logits = body.linear(body.activation(electra.activation, dense),
                               "discriminator_predictions.dense_prediction", 1);
    model.output("logits", body.unpack(logits, sequences, "logits", 0));
    model.setObjective(ObjectiveAttr::get(model.getContext(), ObjectiveKind::ReplacedToken));
  }
  if (head == "ForSequenceClassification") {
    auto drop = [&](Value x) { return body.drop(x, electra.dropout.classifier); };
    Value dense =
        body.linear(drop(body.firstToken(hidden, sequences)), "classifier.dense", electra.width);
    Value active = body.activation(ActivationKind::Gelu, dense);
    model.output("logits", body.linear(drop(active), "classifier.out_proj", labels), {"batch"});
  }
  buildTokenHead(import, labels, encoder);
}
