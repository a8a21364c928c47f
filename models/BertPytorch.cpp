//===- BertPytorch.cpp - the pre-norm BERT --------------------------------===//
#include "models/Family.h"

using namespace mlir;
using namespace mlir::transformer;

/// a_2 * (x - mean) / (std + eps) + b_2.
static constexpr Norm norm = {1e-6, /*unbiased=*/true, /*epsOutside=*/true, "a_2", "b_2"};

/// Segments 1 and 2; 0 is padding.
static constexpr int64_t segments = 3;

static Layer makeLayer(ModelBuilder &model, int64_t width, int64_t heads) {
  Type rows = model.entry().rows(width);
  return model.layer("encoder_layer", {{"x", rows}, {"sequences", model.sequencesType()}},
                     InitScheme{}, [&](Body &body, ValueRange arguments) {
                       Value x = arguments[0];
                       Value attention = body.multiHeadAttention(
                           body.layerNorm(x, "input_sublayer.norm", norm), arguments[1],
                           {"attention.linear_layers.0", "attention.linear_layers.1",
                            "attention.linear_layers.2", "attention.output_linear"},
                           {heads});
                       Value attended = body.add(x, body.drop(attention), "residual");
                       Value ffn =
                           body.feedForward(ActivationKind::GeluTanh,
                                            body.layerNorm(attended, "output_sublayer.norm", norm),
                                            "feed_forward.w_1", "feed_forward.w_2", 4 * width);
                       return body.drop(body.add(attended, body.drop(ffn), "residual"));
                     });
}

void transformer::buildBertPytorch(Import &import) {
  Config &config = import.config;
  int64_t vocabSize = config.size({"vocab_size"}, std::nullopt, Config::maxVocabulary);
  int64_t width = config.size({"hidden"}, 768);
  int64_t layers = config.size({"n_layers"}, 12, Config::maxLayers);
  int64_t heads = config.size({"attn_heads"}, 12);
  int64_t maxLength = config.size({"max_len"}, 512, Config::maxPositions);
  double dropout = config.rate({"dropout"}, 0.1);
  config.checkHeads("hidden", width, "attn_heads", heads);
  if (width == 1)
    config.fail("hidden", "at least 2 for an unbiased variance", "1");
  if (!config.ok())
    return;

  ModelBuilder &model = import.model;
  model.dropout = {dropout, dropout, dropout};
  // The class with the heads of training holds the model as `bert`.
  bool predicts =
      config.architecture() == "BERTLM" || import.checkpoint.holds("mask_lm.linear.weight");
  const std::string base = predicts ? "bert." : "";
  model.aliases = {"bert.", predicts, {}};
  Value ids = model.input({"input_ids", {}, vocabSize, maxLength});
  Value mask = model.input({"attention_mask", model.missing(DefaultKind::Greater, "input_ids", 0)});
  Value types = model.input({"token_type_ids", model.missing(DefaultKind::Zeros), segments});
  Value places = model.input({"position_ids", model.missing(DefaultKind::Columns), maxLength});
  SmallVector<Value> packed = model.pack({ids, types, places}, mask);

  Body &body = model.entry();
  constexpr int64_t padding = 0; // a row of both tables
  Value tokens = body.embedding(packed[0], base + "embedding.token", vocabSize, width, 1, padding);
  Value placed = body.add(tokens, body.sinusoids(packed[2], width, maxLength), "embeddings");
  Value hidden = body.add(
      placed, body.embedding(packed[1], base + "embedding.segment", segments, width, 1, padding),
      "embeddings");
  hidden = body.drop(hidden);
  Layer layer = makeLayer(model, width, heads);
  for (int64_t i = 0; i < layers; ++i)
    hidden =
        model.call(layer, base + "transformer_blocks." + std::to_string(i), {hidden, packed[3]});
  model.output("last_hidden_state", body.unpack(hidden, packed[3], "last_hidden_state"));
  if (!predicts)
    return;
  Value words = body.linear(hidden, "mask_lm.linear", vocabSize);
  model.output("prediction_logits", body.unpack(words, packed[3], "prediction_logits"));
  Value first = body.firstToken(hidden, packed[3]);
  model.output("seq_relationship_logits", body.linear(first, "next_sentence.linear", 2), {"batch"});
  model.setObjective(ObjectiveAttr::get(model.getContext(), ObjectiveKind::NextSentence, padding));
}
