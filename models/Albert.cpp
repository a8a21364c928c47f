//===- Albert.cpp - ALBERT (Lan et al. 2020) ------------------------------===//
#include "models/BertLike.h"

using namespace mlir;
using namespace mlir::transformer;

static const MaskedLmNames maskedLmNames = {"predictions.dense", "predictions.LayerNorm",
                                            "predictions.decoder", "predictions.bias",
                                            "albert.embeddings.word_embeddings"};

/// One layer, post-norm, whose tensors several layers share.
static Layer makeLayer(ModelBuilder &model, const BertConfig &config) {
  Type rows = model.entry().rows(config.width);
  return model.layer(
      "encoder_layer", {{"x", rows}, {"sequences", model.sequencesType()}}, config.init,
      [&](Body &body, ValueRange own) {
        Value attention = body.multiHeadAttention(
            own[0], own[1],
            {"attention.query", "attention.key", "attention.value", "attention.dense"},
            {config.heads});
        Value x = body.layerNorm(body.add(body.drop(attention), own[0], "residual"),
                                 "attention.LayerNorm", config.norm);
        Value ffn = body.feedForward(config.activation, x, "ffn", "ffn_output", config.ffnWidth);
        return body.layerNorm(body.add(ffn, x, "residual"), "full_layer_layer_norm", config.norm);
      });
}

namespace {
/// How many groups of layers have tensors of their own, and how many layers a group.
struct AlbertGroups {
  int64_t groups, layersOfGroup;
};
} // namespace

static BertEncoder buildEncoder(ModelBuilder &model, const BertConfig &config,
                                const AlbertGroups &groups, const std::string &base) {
  auto [hidden, sequences] = buildBertEmbeddings(
      model, config, base, {config.positions, model.missing(DefaultKind::Columns)});
  hidden = model.entry().linear(hidden, base + "encoder.embedding_hidden_mapping_in", config.width);
  Layer layer = makeLayer(model, config);
  for (int64_t i = 0; i < config.layers; ++i) {
    int64_t group = i * groups.groups / config.layers;
    for (int64_t j = 0; j < groups.layersOfGroup; ++j)
      hidden = model.call(layer,
                          base + "encoder.albert_layer_groups." + std::to_string(group) +
                              ".albert_layers." + std::to_string(j),
                          {hidden, sequences});
  }
  return {hidden, sequences};
}

void transformer::buildAlbert(Import &import) {
  Config &config = import.config;
  BertConfig albert = BertConfig::read(config, {.vocabSize = 30000,
                                                .width = 4096,
                                                .heads = 64,
                                                .ffnWidth = 16384,
                                                .embeddingWidth = 128,
                                                .activation = "gelu_new",
                                                .dropout = 0});
  albert.dropout.classifier = config.isNull("classifier_dropout_prob")
                                  ? albert.dropout.hidden
                                  : config.rate({"classifier_dropout_prob"}, 0.1);
  AlbertGroups groups = {config.size({"num_hidden_groups"}, 1, Config::maxLayers),
                         config.size({"inner_group_num"}, 1, Config::maxLayers)};
  if (groups.groups > albert.layers)
    config.fail("num_hidden_groups", "at most num_hidden_layers = " + Twine(albert.layers),
                Twine(groups.groups));
  int64_t labels = readLabels(import);
  StringRef head = import.head;
  if (!config.ok())
    return;

  ModelBuilder &model = import.model;
  bool baseModel = head == "Model";
  model.aliases = bertAliases("albert.", !baseModel);
  bool predicts = head == "ForMaskedLM" || head == "ForPreTraining";
  if (predicts)
    declareTiedEmbedding(model, albert, maskedLmNames);
  std::string base = baseModel ? "" : "albert.";
  BertEncoder encoder = buildEncoder(model, albert, groups, base);

  Body &body = model.entry();
  auto pool = [&] {
    Value first = body.firstToken(encoder.hidden, encoder.sequences);
    return body.activation(ActivationKind::Tanh, body.linear(first, base + "pooler", albert.width));
  };
  auto drop = [&](Value x) { return body.drop(x, albert.dropout.classifier); };
  if (baseModel) {
    buildLastHiddenState(import, encoder, albert.positions);
    if (!import.checkpoint.lacks("pooler.weight"))
      model.output("pooler_output", pool(), {"batch"});
    return;
  }
  if (predicts)
    buildMaskedLm(model, albert, albert.activation, maskedLmNames, encoder,
                  head == "ForMaskedLM" ? "logits" : "prediction_logits");
  if (head == "ForPreTraining") {
    model.output("sop_logits", body.linear(drop(pool()), "sop_classifier.classifier", labels),
                 {"batch"});
    model.setObjective(ObjectiveAttr::get(model.getContext(), ObjectiveKind::SentenceOrder));
  }
  if (head == "ForSequenceClassification")
    model.output("logits", body.linear(drop(pool()), "classifier", labels), {"batch"});
  buildTokenHead(import, labels, encoder);
}
