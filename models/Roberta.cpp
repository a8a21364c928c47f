//===- Roberta.cpp - RoBERTa (Liu et al. 2019) ----------------------------===//
#include "models/BertLike.h"

using namespace mlir;
using namespace mlir::transformer;

static const MaskedLmNames maskedLmNames = {"lm_head.dense", "lm_head.layer_norm",
                                            "lm_head.decoder", "lm_head.bias",
                                            "roberta.embeddings.word_embeddings"};

void transformer::buildRoberta(Import &import) {
  Config &config = import.config;
  BertConfig bert = BertConfig::read(config, {.vocabSize = 50265});
  // Positions count from pad_token_id + 1, so the last ones of the table are the limit.
  int64_t pad = config.integer({"pad_token_id"}, 1, 0, bert.vocabSize);
  bert.padding = bert.positionPadding = pad;
  int64_t labels = readLabels(import);
  int64_t maxLength = bert.positions - pad - 1;
  StringRef head = import.head;
  if (maxLength < 1)
    config.fail("max_position_embeddings", "more than pad_token_id + 1 = " + Twine(pad + 1),
                Twine(bert.positions));
  if (!config.ok())
    return;

  ModelBuilder &model = import.model;
  bool baseModel = head == "Model";
  model.aliases = bertAliases("roberta.", !baseModel);
  if (head == "ForMaskedLM")
    declareTiedEmbedding(model, bert, maskedLmNames);
  BertEncoder encoder =
      buildBertEncoder(model, bert, baseModel ? "" : "roberta.",
                       {maxLength, model.missing(DefaultKind::CountNotEqual, "input_ids", pad)});
  auto [hidden, sequences] = encoder;

  Body &body = model.entry();
  if (baseModel)
    return buildBertBaseModel(import, bert, encoder, maxLength);
  // This head's activation is gelu, whatever hidden_act says.
  if (head == "ForMaskedLM")
    buildMaskedLm(model, bert, ActivationKind::Gelu, maskedLmNames, encoder);
  if (head == "ForSequenceClassification") {
    auto drop = [&](Value x) { return body.drop(x, bert.dropout.classifier); };
    Value dense =
        body.linear(drop(body.firstToken(hidden, sequences)), "classifier.dense", bert.width);
    Value active = body.activation(ActivationKind::Tanh, dense);
    model.output("logits", body.linear(drop(active), "classifier.out_proj", labels), {"batch"});
  }
  buildTokenHead(import, labels, encoder);
}
