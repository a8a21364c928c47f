//===- GptLike.cpp - what OpenAI GPT and GPT-2 share ----------------------===//
#include "models/GptLike.h"
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;

GptConfig GptConfig::read(Config &config, int64_t vocabSize, int64_t positions, bool tied,
                          double dropout) {
  GptConfig result;
  result.vocabSize = config.size({"vocab_size"}, vocabSize, Config::maxVocabulary);
  result.width = config.size({"n_embd", "hidden_size"}, 768);
  result.layers = config.size({"n_layer", "num_hidden_layers"}, 12, Config::maxLayers);
  result.heads = config.size({"n_head", "num_attention_heads"}, 12);
  result.positions =
      config.size({"n_positions", "max_position_embeddings"}, positions, Config::maxPositions);
  result.norm = {config.number({"layer_norm_epsilon"}, 1e-5)};
  result.deviation = config.number({"initializer_range"}, 0.02);
  result.tied = config.flag({"tie_word_embeddings"}, tied);
  result.dropout.hidden = config.rate({"resid_pdrop"}, dropout);
  result.dropout.embedding = config.rate({"embd_pdrop"}, dropout);
  result.dropout.attention = config.rate({"attn_pdrop"}, dropout);
  config.checkHeads("n_embd", result.width, "n_head", result.heads);
  return result;
}

double GptConfig::scale() const { return 1 / std::sqrt(double(width / heads)); }

GptInputs transformer::buildGptInputs(Import &import, const GptConfig &config,
                                      const DecoderOutput &output, StringRef positions, bool step) {
  ModelBuilder &model = import.model;
  Value ids = model.input({"input_ids", {}, config.vocabSize, config.positions});
  Value mask = model.input({"attention_mask", model.missing(DefaultKind::Ones)});
  Value places =
      model.input({"position_ids", model.missing(DefaultKind::Columns), config.positions});
  DecoderEntry entry(import, step, config.layers, config.width);
  SmallVector<Value> packed = model.pack({ids, places}, mask);

  Body &body = model.entry();
  body.init = {config.deviation};
  model.dropout = config.dropout;
  output.declareTied(import, config.width);
  Value words = body.embedding(packed[0], output.tokens, config.vocabSize, config.width);
  Value where = body.embedding(packed[1], positions, config.positions, config.width);
  Value sum = body.add(words, where, "embeddings");
  return {body.drop(sum, body.dropout.embedding), packed[2], entry};
}

Value transformer::buildGptAttention(Body &body, Value x, Value sequences, const GptConfig &config,
                                     const GptScale &scale, InitScheme outputInit,
                                     LayerCache &cache) {
  Value merged = body.linear(x, "attn.c_attn", 3 * config.width, WeightLayout::InOut);
  SmallVector<Value> qkv = body.split(merged, 3, "qkv");
  AttentionOptions options = {config.heads, /*causal=*/true};
  options.scaleFactor = scale.factor;
  Value attention = cache.attend(body, qkv, sequences, options, scale.scale);
  return body.drop(
      body.linear(attention, "attn.c_proj", config.width, WeightLayout::InOut, outputInit));
}
