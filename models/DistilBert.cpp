//===- DistilBert.cpp - DistilBERT (Sanh et al. 2019) ---------------------===//
#include "models/BertLike.h"

using namespace mlir;
using namespace mlir::transformer;

static const MaskedLmNames maskedLmNames = {"vocab_transform", "vocab_layer_norm",
                                            "vocab_projector", "vocab_projector.bias",
                                            "distilbert.embeddings.word_embeddings"};

static BertConfig readConfig(Config &config) {
  BertConfig result;
  result.vocabSize = config.size({"vocab_size"}, 30522, Config::maxVocabulary);
  result.width = result.embeddingWidth = config.size({"dim", "hidden_size"}, 768);
  result.layers = config.size({"n_layers", "num_hidden_layers"}, 6, Config::maxLayers);
  result.heads = config.size({"n_heads", "num_attention_heads"}, 12);
  result.ffnWidth = config.size({"hidden_dim"}, 4 * 768);
  result.positions = config.size({"max_position_embeddings"}, 512, Config::maxPositions);
  result.types = 0;
  result.activation = config.activation({"activation"}, "gelu");
  result.norm = {1e-12};
  result.init = {config.number({"initializer_range"}, 0.02)};
  result.tied = config.flag({"tie_word_embeddings"}, true);
  result.padding = config.padding(result.vocabSize, 0);
  result.dropout.hidden = config.rate({"dropout"}, 0.1);
  result.dropout.attention = config.rate({"attention_dropout"}, 0.1);
  result.dropout.classifier = result.dropout.hidden;
  config.checkHeads("dim", result.width, "n_heads", result.heads);
  return result;
}

/// One layer, post-norm.
static Layer makeLayer(ModelBuilder &model, const BertConfig &config) {
  Type rows = model.entry().rows(config.width);
  return model.layer(
      "encoder_layer", {{"x", rows}, {"sequences", model.sequencesType()}}, config.init,
      [&](Body &body, ValueRange arguments) {
        Value x = arguments[0];
        Value attention = body.multiHeadAttention(
            x, arguments[1],
            {"attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin"},
            {config.heads});
        Value attended =
            body.layerNorm(body.add(attention, x, "residual"), "sa_layer_norm", config.norm);
        Value ffn =
            body.feedForward(config.activation, attended, "ffn.lin1", "ffn.lin2", config.ffnWidth);
        return body.layerNorm(body.add(body.drop(ffn), attended, "residual"), "output_layer_norm",
                              config.norm);
      });
}

static BertEncoder buildEncoder(ModelBuilder &model, const BertConfig &config, StringRef base) {
  auto name = [&](StringRef part) { return (base + part).str(); };
  Value ids = model.input({"input_ids", {}, config.vocabSize, config.positions});
  Value mask = model.input({"attention_mask", model.missing(DefaultKind::Ones)});
  Value places =
      model.input({"position_ids", model.missing(DefaultKind::Columns), config.positions});
  SmallVector<Value> packed = model.pack({ids, places}, mask);

  Body &body = model.entry();
  body.init = config.init;
  model.dropout = config.dropout;
  Value words = body.embedding(packed[0], name("embeddings.word_embeddings"), config.vocabSize,
                               config.width, 1, config.padding);
  Value where = body.embedding(packed[1], name("embeddings.position_embeddings"), config.positions,
                               config.width);
  Value hidden = body.layerNorm(body.add(words, where, "embeddings"), name("embeddings.LayerNorm"),
                                config.norm);
  hidden = body.drop(hidden);
  Layer layer = makeLayer(model, config);
  for (int64_t i = 0; i < config.layers; ++i)
    hidden = model.call(layer, name("transformer.layer.") + std::to_string(i), {hidden, packed[2]});
  return {hidden, packed[2]};
}

void transformer::buildDistilBert(Import &import) {
  Config &config = import.config;
  BertConfig bert = readConfig(config);
  int64_t labels = readLabels(import);
  StringRef head = import.head;
  if (!config.ok())
    return;

  ModelBuilder &model = import.model;
  bool baseModel = head == "Model";
  model.aliases = bertAliases("distilbert.", !baseModel);
  if (head == "ForMaskedLM")
    declareTiedEmbedding(model, bert, maskedLmNames);
  BertEncoder encoder = buildEncoder(model, bert, baseModel ? "" : "distilbert.");

  Body &body = model.entry();
  if (baseModel)
    return buildLastHiddenState(import, encoder, bert.positions);
  if (head == "ForMaskedLM")
    buildMaskedLm(model, bert, bert.activation, maskedLmNames, encoder);
  if (head == "ForSequenceClassification") {
    Value dense = body.linear(body.firstToken(encoder.hidden, encoder.sequences), "pre_classifier",
                              bert.width);
    Value active = body.drop(body.activation(ActivationKind::Relu, dense),
                             config.rate({"seq_classif_dropout"}, 0.2));
    model.output("logits", body.linear(active, "classifier", labels), {"batch"});
  }
  if (head == "ForQuestionAnswering")
    encoder.hidden = body.drop(encoder.hidden, config.rate({"qa_dropout"}, 0.1));
  buildTokenHead(import, labels, encoder);
}
