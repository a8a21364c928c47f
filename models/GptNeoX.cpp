//===- GptNeoX.cpp - GPT-NeoX (Black et al. 2022), Pythia -----------------===//
#include "models/DecoderEntry.h"
#include "models/Rope.h"
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;

namespace {
struct NeoXConfig {
  int64_t vocabSize, width, layers, heads, ffnWidth;
  ActivationKind activation;
  Norm norm;
  Rope rope;
  double deviation;
  bool parallel, attentionBias, tied;
  DropoutRates dropout;
};
} // namespace

static NeoXConfig readConfig(Config &config) {
  NeoXConfig result;
  result.vocabSize = config.size({"vocab_size"}, 50432, Config::maxVocabulary);
  result.width = config.size({"hidden_size"}, 6144);
  result.layers = config.size({"num_hidden_layers"}, 44, Config::maxLayers);
  result.heads = config.size({"num_attention_heads"}, 64);
  result.ffnWidth = config.size({"intermediate_size"}, 24576);
  result.activation = config.activation({"hidden_act"}, "gelu");
  result.norm.eps = config.number({"layer_norm_eps"}, 1e-5);
  int64_t positions = config.size({"max_position_embeddings"}, 2048, Config::maxPositions);
  result.rope =
      Rope::read(config, std::max<int64_t>(1, result.width / result.heads), positions,
                 {.thetaKey = "rotary_emb_base", .partialKey = "rotary_pct", .partial = 0.25});
  result.deviation = config.number({"initializer_range"}, 0.02);
  result.parallel = config.flag({"use_parallel_residual"}, true);
  result.attentionBias = config.flag({"attention_bias"}, true);
  result.tied = config.flag({"tie_word_embeddings"}, false);
  result.dropout.hidden = config.rate({"hidden_dropout"}, 0);
  result.dropout.attention = config.rate({"attention_dropout"}, 0);
  config.checkHeads("hidden_size", result.width, "num_attention_heads", result.heads);
  return result;
}

/// Query, key and value of a head stand beside each other in one tensor.
static Value attend(Body &body, Value x, Value sequences, Value table, const NeoXConfig &config,
                    LayerCache &cache) {
  auto [matrix, bias] =
      body.linearWeights("attention.query_key_value", config.width, 3 * config.width,
                         WeightLayout::OutIn, body.init, config.attentionBias);
  SmallVector<Value> qkv;
  for (auto [part, name] : llvm::enumerate(ArrayRef<StringRef>{"query", "key", "value"})) {
    int64_t number = static_cast<int64_t>(part);
    Value ofPart = body.partOfHeads(matrix, config.heads, number, 3, name);
    Value biasOfPart = bias ? body.partOfHeads(bias, config.heads, number, 3, name) : Value();
    qkv.push_back(body.linear(x, ofPart, biasOfPart, WeightLayout::OutIn, name));
  }
  qkv[0] = body.rotate(qkv[0], table, config.heads, "q_rotated");
  qkv[1] = body.rotate(qkv[1], table, config.heads, "k_rotated");
  double scale = 1 / std::sqrt(double(config.width / config.heads));
  Value attention = cache.attend(body, qkv, sequences, {config.heads, /*causal=*/true}, scale);
  return body.drop(body.linear(attention, "attention.dense", config.width, config.attentionBias));
}

/// Both sublayers read x (parallel), or the second one what the first one made.
static Layer makeLayer(DecoderEntry &entry, Body &outside, Type sequences,
                       const NeoXConfig &config) {
  return entry.layer("decoder_layer",
                     {{"x", outside.rows(config.width)},
                      {"sequences", sequences},
                      {"rotary_table", outside.rows(config.rope.width)}},
                     {config.deviation}, [&](Body &body, ValueRange own, LayerCache &cache) {
                       Value normed = body.layerNorm(own[0], "input_layernorm", config.norm);
                       Value attention = attend(body, normed, own[1], own[2], config, cache);
                       Value attended = body.add(own[0], attention, "residual");
                       normed = body.layerNorm(config.parallel ? own[0] : attended,
                                               "post_attention_layernorm", config.norm);
                       Value ffn = body.feedForward(config.activation, normed, "mlp.dense_h_to_4h",
                                                    "mlp.dense_4h_to_h", config.ffnWidth);
                       return body.add(attended, body.drop(ffn), "residual");
                     });
}

static void buildEntry(Import &import, const NeoXConfig &config, bool step) {
  ModelBuilder &model = import.model;
  std::string base = import.head == "Model" ? "" : "gpt_neox.";
  int64_t longest = config.rope.maxLength;
  Value ids = model.input({"input_ids", {}, config.vocabSize, longest});
  Value mask = model.input({"attention_mask", model.missing(DefaultKind::Ones)});
  Value places = model.input({"position_ids", model.missing(DefaultKind::Columns), longest});
  DecoderEntry entry(import, step, config.layers, config.width);
  SmallVector<Value> packed = model.pack({ids, places}, mask);

  Body &body = model.entry();
  body.init = {config.deviation};
  model.dropout = config.dropout;
  // The head was called embed_out.
  DecoderOutput output{config.vocabSize, base + "embed_in", config.tied, {"embed_out.weight"}};
  output.declareTied(import, config.width);
  Value hidden = body.embedding(packed[0], base + "embed_in", config.vocabSize, config.width);
  hidden = body.drop(hidden);
  Value table = config.rope.table(body, packed[1]);
  Layer layer = makeLayer(entry, body, model.sequencesType(), config);
  hidden = entry.callInTurn(layer, config.layers, base + "layers", hidden, {packed[2], table});
  hidden = body.layerNorm(hidden, base + "final_layer_norm", config.norm);
  entry.output(output, hidden, packed[2]);
}

void transformer::buildGptNeoX(Import &import) {
  NeoXConfig config = readConfig(import.config);
  if (!import.config.ok())
    return;
  import.model.aliases = {"gpt_neox.", import.head != "Model", {}};
  buildDecoderEntries(import, [&](bool step) { buildEntry(import, config, step); });
}
