//===- BertLike.cpp - the encoder that BERT and RoBERTa share -------------===//
#include "models/BertLike.h"

using namespace mlir;
using namespace mlir::transformer;

AliasRule transformer::bertAliases(StringRef prefix, bool prefixed) {
  return {prefix.str(),
          prefixed,
          {{"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}}};
}

BertConfig BertConfig::read(Config &config, const Defaults &defaults) {
  BertConfig result;
  result.vocabSize = config.size({"vocab_size"}, defaults.vocabSize, Config::maxVocabulary);
  result.width = config.size({"hidden_size"}, defaults.width);
  result.embeddingWidth = defaults.embeddingWidth
                              ? config.size({"embedding_size"}, defaults.embeddingWidth)
                              : result.width;
  result.layers = config.size({"num_hidden_layers"}, defaults.layers, Config::maxLayers);
  result.heads = config.size({"num_attention_heads"}, defaults.heads);
  result.ffnWidth = config.size({"intermediate_size"}, defaults.ffnWidth);
  result.positions = config.size({"max_position_embeddings"}, 512, Config::maxPositions);
  result.types = config.size({"type_vocab_size"}, defaults.types);
  result.activation = config.activation({"hidden_act"}, defaults.activation);
  result.norm = {config.number({"layer_norm_eps"}, 1e-12)};
  result.init = {config.number({"initializer_range"}, 0.02)};
  result.tied = config.flag({"tie_word_embeddings"}, true);
  result.padding = config.padding(result.vocabSize, 0);
  DropoutRates &dropout = result.dropout;
  dropout.hidden = config.rate({"hidden_dropout_prob"}, defaults.dropout);
  dropout.attention = config.rate({"attention_probs_dropout_prob"}, defaults.dropout);
  dropout.classifier = config.rate({"classifier_dropout"}, dropout.hidden);
  config.checkHeads("hidden_size", result.width, "num_attention_heads", result.heads);
  config.refuseOther("position_embedding_type", "absolute");
  config.refuseFlag("is_decoder");
  config.refuseFlag("add_cross_attention");
  return result;
}

/// One encoder layer, post-norm.
static Layer makeLayer(ModelBuilder &model, const BertConfig &config) {
  Type rows = model.entry().rows(config.width);
  return model.layer(
      "encoder_layer", {{"x", rows}, {"sequences", model.sequencesType()}}, config.init,
      [&](Body &body, ValueRange arguments) {
        Value x = arguments[0];
        Value attention =
            body.multiHeadAttention(x, arguments[1],
                                    {"attention.self.query", "attention.self.key",
                                     "attention.self.value", "attention.output.dense"},
                                    {config.heads});
        Value attended = body.layerNorm(body.add(body.drop(attention), x, "residual"),
                                        "attention.output.LayerNorm", config.norm);
        Value ffn = body.feedForward(config.activation, attended, "intermediate.dense",
                                     "output.dense", config.ffnWidth);
        return body.layerNorm(body.add(body.drop(ffn), attended, "residual"), "output.LayerNorm",
                              config.norm);
      });
}

BertEncoder transformer::buildBertEmbeddings(ModelBuilder &model, const BertConfig &config,
                                             StringRef base, const BertPositions &positions) {
  auto name = [&](StringRef part) { return (base + part).str(); };
  Value ids = model.input({"input_ids", {}, config.vocabSize, positions.maxLength});
  Value mask = model.input({"attention_mask", model.missing(DefaultKind::Ones)});
  Value types = model.input({"token_type_ids", model.missing(DefaultKind::Zeros), config.types});
  Value places = model.input({"position_ids", positions.missing, config.positions});
  SmallVector<Value> packed = model.pack({ids, types, places}, mask);

  Body &body = model.entry();
  body.init = config.init;
  auto embed = [&](Value ids, StringRef table, int64_t rows, std::optional<int64_t> padding) {
    return body.embedding(ids, name(table), rows, config.embeddingWidth, 1, padding);
  };
  model.dropout = config.dropout;
  Value words = embed(packed[0], "embeddings.word_embeddings", config.vocabSize, config.padding);
  Value segments = embed(packed[1], "embeddings.token_type_embeddings", config.types, {});
  Value where =
      embed(packed[2], "embeddings.position_embeddings", config.positions, config.positionPadding);
  Value sum = body.add(body.add(words, segments, "embeddings"), where, "embeddings");
  Value normed = body.layerNorm(sum, name("embeddings.LayerNorm"), config.norm);
  return {body.drop(normed), packed[3]};
}

BertEncoder transformer::buildBertEncoder(ModelBuilder &model, const BertConfig &config,
                                          StringRef base, const BertPositions &positions) {
  auto [hidden, sequences] = buildBertEmbeddings(model, config, base, positions);
  if (config.embeddingWidth != config.width)
    hidden = model.entry().linear(hidden, (base + "embeddings_project").str(), config.width);
  Layer layer = makeLayer(model, config);
  for (int64_t i = 0; i < config.layers; ++i)
    hidden = model.call(layer, (base + "encoder.layer." + Twine(i)).str(), {hidden, sequences});
  return {hidden, sequences};
}

Value transformer::buildBertPooler(ModelBuilder &model, const BertConfig &config, StringRef base,
                                   const BertEncoder &encoder) {
  Body &body = model.entry();
  Value first = body.firstToken(encoder.hidden, encoder.sequences);
  Value dense = body.linear(first, (base + "pooler.dense").str(), config.width);
  return body.activation(ActivationKind::Tanh, dense);
}

void transformer::buildLastHiddenState(Import &import, const BertEncoder &encoder,
                                       int64_t maxLength) {
  Body &body = import.model.entry();
  import.model.output("last_hidden_state",
                      body.unpack(encoder.hidden, encoder.sequences, "last_hidden_state"));
  addEmbedding(import, maxLength);
}

void transformer::buildBertBaseModel(Import &import, const BertConfig &config,
                                     const BertEncoder &encoder, int64_t maxLength) {
  buildLastHiddenState(import, encoder, maxLength);
  if (!import.checkpoint.lacks("pooler.dense.weight"))
    import.model.output("pooler_output", buildBertPooler(import.model, config, "", encoder),
                        {"batch"});
}

void transformer::declareTiedEmbedding(ModelBuilder &model, const BertConfig &config,
                                       const MaskedLmNames &names) {
  auto type = RankedTensorType::get({config.vocabSize, config.embeddingWidth},
                                    Float32Type::get(model.getContext()));
  if (config.tied)
    model.declare(names.embedding + ".weight", type,
                  config.init.embedding(model.getContext(), config.padding),
                  {names.decoder + ".weight"});
}

void transformer::buildMaskedLm(ModelBuilder &model, const BertConfig &config,
                                ActivationKind activation, const MaskedLmNames &names,
                                const BertEncoder &encoder, StringRef output) {
  Body &body = model.entry();
  Value x = body.linear(encoder.hidden, names.dense, config.embeddingWidth);
  x = body.layerNorm(body.activation(activation, x), names.norm, config.norm);
  // A tied decoder has the module's own bias; an untied one is a Linear of its
  // own. Files of transformers 4 hold both biases, with the same values.
  std::string ownBias = names.decoder + ".bias";
  std::string bias = config.tied ? names.tiedBias : ownBias;
  InitAttr zeros = makeInit(model.getContext(), InitKind::Zeros);
  auto biasType = RankedTensorType::get({config.vocabSize}, Float32Type::get(model.getContext()));
  if (ownBias != names.tiedBias)
    model.declare(bias, biasType, zeros, {config.tied ? ownBias : names.tiedBias});
  Value matrix = body.weight((config.tied ? names.embedding : names.decoder) + ".weight",
                             {config.vocabSize, config.embeddingWidth},
                             config.init.embedding(model.getContext()));
  Value logits = body.linear(x, matrix, body.weight(bias, {config.vocabSize}, zeros),
                             WeightLayout::OutIn, "logits");
  model.output(output, body.unpack(logits, encoder.sequences, "logits"));
}

int64_t transformer::readLabels(Import &import) {
  int64_t labels = import.config.labels();
  if (import.head == "ForQuestionAnswering" && labels != 2)
    import.config.fail("num_labels", "2 for question answering", Twine(labels));
  return labels;
}

void transformer::buildTokenHead(Import &import, int64_t labels, const BertEncoder &encoder) {
  Body &body = import.model.entry();
  auto output = [&](StringRef name, Value logits, auto... column) {
    import.model.output(name, body.unpack(logits, encoder.sequences, name, column...));
  };
  if (import.head == "ForTokenClassification")
    output("logits",
           body.linear(body.drop(encoder.hidden, body.dropout.classifier), "classifier", labels));
  if (import.head == "ForQuestionAnswering") {
    Value logits = body.linear(encoder.hidden, "qa_outputs", 2);
    output("start_logits", logits, 0);
    output("end_logits", logits, 1);
  }
}
