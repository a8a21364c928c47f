//===- Bloom.cpp - BLOOM (Le Scao et al. 2022) ----------------------------===//
#include "models/DecoderEntry.h"
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;

namespace {
struct BloomConfig {
  int64_t vocabSize, width, layers, heads;
  Norm norm;
  double deviation;
  bool residualOfNorm, tied;
  DropoutRates dropout;
};
} // namespace

static BloomConfig readConfig(Config &config) {
  BloomConfig result;
  result.vocabSize = config.size({"vocab_size"}, 250880, Config::maxVocabulary);
  result.width = config.size({"n_embed", "hidden_size"}, 64);
  result.layers = config.size({"n_layer", "num_hidden_layers"}, 2, Config::maxLayers);
  result.heads = config.size({"n_head", "num_attention_heads"}, 8);
  result.norm.eps = config.number({"layer_norm_epsilon"}, 1e-5);
  result.deviation = config.number({"initializer_range"}, 0.02);
  result.residualOfNorm = config.flag({"apply_residual_connection_post_layernorm"}, false);
  result.tied = config.flag({"tie_word_embeddings"}, true);
  config.flag({"slow_but_exact"}, false); // a matter of precision only
  result.dropout.hidden = config.rate({"hidden_dropout"}, 0);
  result.dropout.attention = config.rate({"attention_dropout"}, 0);
  config.checkHeads("hidden_size", result.width, "n_head", result.heads);
  return result;
}

/// The slopes of ALiBi (Press et al. 2022): 2^(-8 i / heads) for a power of two;
/// else those of the next lower power, then every other one of the next higher.
static SmallVector<float> slopes(int64_t heads) {
  auto power = static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(heads)));
  SmallVector<float> result;
  for (int64_t i = 1; i <= power; ++i)
    result.push_back(static_cast<float>(std::exp2(-8.0 * double(i) / double(power))));
  for (int64_t i = 1; static_cast<int64_t>(result.size()) < heads; i += 2)
    result.push_back(static_cast<float>(std::exp2(-4.0 * double(i) / double(power))));
  return result;
}

/// Query, key and value of a head stand beside each other in one tensor.
static Value attend(Body &body, Value x, Value sequences, Value bias, const BloomConfig &config,
                    LayerCache &cache) {
  auto [matrix, added] = body.linearWeights("self_attention.query_key_value", config.width,
                                            3 * config.width, WeightLayout::OutIn, body.init);
  SmallVector<Value> qkv;
  for (auto [part, name] : llvm::enumerate(ArrayRef<StringRef>{"query", "key", "value"})) {
    int64_t number = static_cast<int64_t>(part);
    qkv.push_back(body.linear(x, body.partOfHeads(matrix, config.heads, number, 3, name),
                              body.partOfHeads(added, config.heads, number, 3, name),
                              WeightLayout::OutIn, name));
  }
  AttentionOptions options = {config.heads, /*causal=*/true};
  options.positionBias = bias;
  double scale = 1 / std::sqrt(double(config.width / config.heads));
  Value attention = cache.attend(body, qkv, sequences, options, scale);
  return body.drop(body.linear(attention, "self_attention.dense", config.width));
}

static Layer makeLayer(DecoderEntry &entry, Type rows, Type sequences, const BloomConfig &config) {
  return entry.layer(
      "decoder_layer", {{"x", rows}, {"sequences", sequences}}, {config.deviation},
      [&](Body &body, ValueRange own, LayerCache &cache) {
        Value bias = body.constant(slopes(config.heads), "slopes");
        Value normed = body.layerNorm(own[0], "input_layernorm", config.norm);
        Value x = body.add(config.residualOfNorm ? normed : own[0],
                           attend(body, normed, own[1], bias, config, cache), "residual");
        normed = body.layerNorm(x, "post_attention_layernorm", config.norm);
        Value ffn = body.feedForward(ActivationKind::GeluTanh, normed, "mlp.dense_h_to_4h",
                                     "mlp.dense_4h_to_h", 4 * config.width);
        return body.add(config.residualOfNorm ? normed : x, body.drop(ffn), "residual");
      });
}

static void buildEntry(Import &import, const BloomConfig &config, bool step) {
  ModelBuilder &model = import.model;
  std::string base = import.head == "Model" ? "" : "transformer.";
  Value ids = model.input({"input_ids", {}, config.vocabSize});
  Value mask = model.input({"attention_mask", model.missing(DefaultKind::Ones)});
  DecoderEntry entry(import, step, config.layers, config.width);
  SmallVector<Value> packed = model.pack({ids}, mask);

  Body &body = model.entry();
  body.init = {config.deviation};
  model.dropout = config.dropout;
  DecoderOutput output{config.vocabSize, base + "word_embeddings", config.tied};
  output.declareTied(import, config.width);
  Value hidden =
      body.embedding(packed[0], base + "word_embeddings", config.vocabSize, config.width);
  hidden = body.layerNorm(hidden, base + "word_embeddings_layernorm", config.norm);
  Layer layer = makeLayer(entry, body.rows(config.width), model.sequencesType(), config);
  hidden = entry.callInTurn(layer, config.layers, base + "h", hidden, {packed[1]});
  hidden = body.layerNorm(hidden, base + "ln_f", config.norm);
  entry.output(output, hidden, packed[1]);
}

void transformer::buildBloom(Import &import) {
  BloomConfig config = readConfig(import.config);
  if (!import.config.ok())
    return;
  import.model.aliases = {"transformer.", import.head != "Model", {}};
  buildDecoderEntries(import, [&](bool step) { buildEntry(import, config, step); });
}
