//===- LlamaLike.cpp - what Llama and the families after it share ---------===//
#include "models/LlamaLike.h"
#include "models/DecoderEntry.h"
#include "llvm/ADT/MapVector.h"
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;

LlamaConfig LlamaConfig::read(Config &config, const Defaults &defaults) {
  LlamaConfig result;
  result.vocabSize = config.size({"vocab_size"}, defaults.vocabSize, Config::maxVocabulary);
  result.width = config.size({"hidden_size"}, defaults.width);
  result.layers = config.size({"num_hidden_layers"}, defaults.layers, Config::maxLayers);
  result.heads = config.size({"num_attention_heads"}, defaults.heads);
  bool shared = defaults.kvHeads && !config.isNull("num_key_value_heads");
  result.kvHeads = config.size({"num_key_value_heads"}, shared ? defaults.kvHeads : result.heads);
  if (!config.has({"head_dim"}) && !defaults.headDim)
    config.checkHeads("hidden_size", result.width, "num_attention_heads", result.heads);
  result.headDim = config.size(
      {"head_dim"},
      defaults.headDim ? defaults.headDim : std::max<int64_t>(1, result.width / result.heads));
  result.ffnWidth = config.size({"intermediate_size"}, defaults.ffnWidth);
  result.activation = config.activation({"hidden_act"}, defaults.activation);
  result.norm.eps = config.number({"rms_norm_eps"}, defaults.eps);
  int64_t positions =
      config.size({"max_position_embeddings"}, defaults.positions, Config::maxPositions);
  result.rope = Rope::read(config, result.headDim, positions, defaults.rope);
  result.deviation = config.number({"initializer_range"}, 0.02);
  result.padding = config.padding(result.vocabSize, defaults.padding);
  result.tied = config.flag({"tie_word_embeddings"}, defaults.tied);
  int64_t window = defaults.window;
  if (window && !config.isNull("sliding_window"))
    window = config.size({"sliding_window"}, window, Config::maxPositions);
  else if (window)
    window = 0;
  result.dropout.attention = config.rate({"attention_dropout"}, 0);
  result.windows.assign(result.layers, window);
  config.checkHeads("num_attention_heads", result.heads, "num_key_value_heads", result.kvHeads);
  return result;
}

/// Queries, keys and values of normalised rows.
static SmallVector<Value> project(Body &body, Value x, const LlamaConfig &config) {
  int64_t queries = config.heads * config.headDim, keys = config.kvHeads * config.headDim;
  if (config.merged) {
    Value all = body.linear(x, "self_attn.qkv_proj", queries + 2 * keys, config.qkvBias);
    return body.split(all, {queries, keys, keys}, "qkv");
  }
  return {body.linear(x, "self_attn.q_proj", queries, config.qkvBias),
          body.linear(x, "self_attn.k_proj", keys, config.qkvBias),
          body.linear(x, "self_attn.v_proj", keys, config.qkvBias)};
}

static Value attend(Body &body, Value x, Value sequences, Value table, const LlamaConfig &config,
                    int64_t window, LayerCache &cache) {
  SmallVector<Value> qkv = project(body, x, config);
  if (config.headNorms) {
    qkv[0] = body.rmsNorm(qkv[0], "self_attn.q_norm", {config.norm.eps, false, config.heads});
    qkv[1] = body.rmsNorm(qkv[1], "self_attn.k_norm", {config.norm.eps, false, config.kvHeads});
  }
  qkv[0] = body.rotate(qkv[0], table, config.heads, "q_rotated");
  qkv[1] = body.rotate(qkv[1], table, config.kvHeads, "k_rotated");
  AttentionOptions options = {config.heads, /*causal=*/true};
  options.kvHeads = config.kvHeads;
  options.window = window;
  double scale = 1 / std::sqrt(double(config.headDim));
  Value attention = cache.attend(body, qkv, sequences, options, scale);
  return body.linear(attention, "self_attn.o_proj", config.width, config.outBias);
}

/// One layer; `rotary_table` holds the cosines and sines of the positions.
static Layer makeLayer(DecoderEntry &entry, Body &outside, Type sequences,
                       const LlamaConfig &config, int64_t window) {
  return entry.layer(
      window ? "window_layer" : "decoder_layer",
      {{"x", outside.rows(config.width)},
       {"sequences", sequences},
       {"rotary_table", outside.rows(config.rope.width)}},
      {config.deviation}, [&](Body &body, ValueRange own, LayerCache &cache) {
        Value normed = body.rmsNorm(own[0], "input_layernorm", config.norm);
        Value attention = attend(body, normed, own[1], own[2], config, window, cache);
        Value x = body.add(own[0], body.drop(attention), "residual");
        normed = body.rmsNorm(x, "post_attention_layernorm", config.norm);
        Value ffn =
            config.merged
                ? body.gatedFeedForward(config.activation, normed, "mlp.gate_up_proj",
                                        "mlp.down_proj", config.ffnWidth)
                : body.gatedFeedForward(config.activation, normed, "mlp.gate_proj", "mlp.up_proj",
                                        "mlp.down_proj", config.ffnWidth, config.ffnBias);
        return body.add(x, body.drop(ffn), "residual");
      });
}

static void buildEntry(Import &import, const LlamaConfig &config, bool step) {
  ModelBuilder &model = import.model;
  std::string base = import.head == "Model" ? "" : "model.";
  int64_t longest = config.rope.maxLength;
  Value ids = model.input({"input_ids", {}, config.vocabSize, longest});
  Value mask = model.input({"attention_mask", model.missing(DefaultKind::Ones)});
  Value places = model.input({"position_ids", model.missing(DefaultKind::Columns), longest});
  DecoderEntry entry(import, step, config.layers, config.kvHeads * config.headDim);
  SmallVector<Value> packed = model.pack({ids, places}, mask);

  Body &body = model.entry();
  body.init = {config.deviation};
  model.dropout = config.dropout;
  DecoderOutput output{config.vocabSize, base + "embed_tokens", config.tied};
  output.padding = config.padding;
  output.declareTied(import, config.width);
  Value hidden = body.embedding(packed[0], base + "embed_tokens", config.vocabSize, config.width,
                                config.embeddingScale, config.padding);
  Value table = config.rope.table(body, packed[1]);
  llvm::MapVector<int64_t, Layer> kinds;
  for (auto [i, window] : llvm::enumerate(config.windows)) {
    auto [kind, isNew] = kinds.try_emplace(window);
    if (isNew)
      kind->second = makeLayer(entry, body, model.sequencesType(), config, window);
    hidden = entry.call(kind->second, static_cast<int64_t>(i), base + "layers." + std::to_string(i),
                        {hidden, packed[2], table});
  }
  hidden = body.rmsNorm(hidden, base + "norm", config.norm);
  entry.output(output, hidden, packed[2]);
}

void transformer::buildLlamaLike(Import &import, const LlamaConfig &config) {
  if (!import.config.ok())
    return;
  import.model.aliases = {"model.", import.head != "Model", {}};
  buildDecoderEntries(import, [&](bool step) { buildEntry(import, config, step); });
}
