//===- Bert.cpp - BERT (Devlin et al. 2019) -------------------------------===//
#include "models/BertLike.h"

using namespace mlir;
using namespace mlir::transformer;

static const MaskedLmNames maskedLmNames = {
    "cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm",
    "cls.predictions.decoder", "cls.predictions.bias", "bert.embeddings.word_embeddings"};

void transformer::buildBert(Import &import) {
  Config &config = import.config;
  BertConfig bert = BertConfig::read(config, {});
  int64_t labels = readLabels(import);
  StringRef head = import.head;
  if (!config.ok())
    return;

  ModelBuilder &model = import.model;
  bool baseModel = head == "Model";
  model.aliases = bertAliases("bert.", !baseModel);
  bool predicts = head == "ForMaskedLM" || head == "ForPreTraining";
  if (predicts)
    declareTiedEmbedding(model, bert, maskedLmNames);
  StringRef base = baseModel ? "" : "bert.";
  BertEncoder encoder =
      buildBertEncoder(model, bert, base, {bert.positions, model.missing(DefaultKind::Columns)});

  Body &body = model.entry();
  if (baseModel)
    return buildBertBaseModel(import, bert, encoder, bert.positions);
  if (predicts)
    buildMaskedLm(model, bert, bert.activation, maskedLmNames, encoder,
                  head == "ForMaskedLM" ? "logits" : "prediction_logits");
  if (head == "ForPreTraining") {
    model.output(
        "seq_relationship_logits",
        body.linear(buildBertPooler(model, bert, base, encoder), "cls.seq_relationship", 2),
        {"batch"});
    model.setObjective(ObjectiveAttr::get(model.getContext(), ObjectiveKind::NextSentence));
  }
  if (head == "ForSequenceClassification")
    model.output(
        "logits",
        body.linear(body.drop(buildBertPooler(model, bert, base, encoder), bert.dropout.classifier),
                    "classifier", labels),
        {"batch"});
  buildTokenHead(import, labels, encoder);
}
