//===- Opt.cpp - OPT (Zhang et al. 2022) ----------------------------------===//
#include "models/DecoderEntry.h"
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;

namespace {
struct OptConfig {
  int64_t vocabSize, embeddingWidth, width, layers, heads, ffnWidth, positions;
  ActivationKind activation;
  Norm norm = {1e-5};
  double deviation;
  std::optional<int64_t> padding; // the row of words that is not trained
  bool normFirst, finalNorm, hasBias, tied;
  DropoutRates dropout;
};
} // namespace

static OptConfig readConfig(Config &config) {
  OptConfig result;
  result.vocabSize = config.size({"vocab_size"}, 50272, Config::maxVocabulary);
  result.padding = config.padding(result.vocabSize, 1);
  result.width = config.size({"hidden_size"}, 768);
  result.embeddingWidth = config.size({"word_embed_proj_dim"}, result.width);
  result.layers = config.size({"num_hidden_layers"}, 12, Config::maxLayers);
  result.heads = config.size({"num_attention_heads"}, 12);
  result.ffnWidth = config.size({"ffn_dim"}, 3072, 4 * Config::maxWidth);
  result.positions = config.size({"max_position_embeddings"}, 2048, Config::maxPositions);
  result.activation = config.activation({"activation_function"}, "relu");
  result.deviation = config.number({"init_std"}, 0.02);
  result.normFirst = config.flag({"do_layer_norm_before"}, true);
  result.finalNorm = result.normFirst && !config.flag({"_remove_final_layer_norm"}, false);
  result.hasBias = config.flag({"enable_bias"}, true);
  result.norm.affine = config.flag({"layer_norm_elementwise_affine"}, true);
  result.tied = config.flag({"tie_word_embeddings"}, true);
  result.dropout.hidden = config.rate({"dropout"}, 0.1);
  result.dropout.attention = config.rate({"attention_dropout"}, 0);
  config.checkHeads("hidden_size", result.width, "num_attention_heads", result.heads);
  return result;
}

static Value attend(Body &body, Value x, Value sequences, const OptConfig &config,
                    LayerCache &cache) {
  SmallVector<Value> qkv;
  for (StringRef name : {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"})
    qkv.push_back(body.linear(x, name, config.width, config.hasBias));
  double scale = 1 / std::sqrt(double(config.width / config.heads));
  Value attention = cache.attend(body, qkv, sequences, {config.heads, /*causal=*/true}, scale);
  return body.linear(attention, "self_attn.out_proj", config.width, config.hasBias);
}

/// Norms stand before the sublayers, or (350M) behind them.
static Layer makeLayer(DecoderEntry &entry, Type rows, Type sequences, const OptConfig &config) {
  return entry.layer(
      "decoder_layer", {{"x", rows}, {"sequences", sequences}}, {config.deviation},
      [&](Body &body, ValueRange own, LayerCache &cache) {
        auto sublayer = [&](Value x, StringRef norm, llvm::function_ref<Value(Value)> write) {
          auto normalize = [&](Value y) { return body.layerNorm(y, norm, config.norm); };
          if (config.normFirst)
            return body.add(x, body.drop(write(normalize(x))), "residual");
          return normalize(body.add(x, body.drop(write(x)), "residual"));
        };
        Value x = sublayer(own[0], "self_attn_layer_norm",
                           [&](Value y) { return attend(body, y, own[1], config, cache); });
        return sublayer(x, "final_layer_norm", [&](Value y) {
          return body.feedForward(config.activation, y, "fc1", "fc2", config.ffnWidth,
                                  WeightLayout::OutIn, std::nullopt, config.hasBias);
        });
      });
}

static void buildEntry(Import &import, const OptConfig &config, bool step) {
  ModelBuilder &model = import.model;
  bool projected = config.embeddingWidth != config.width;
  std::string base = import.head == "Model" ? "decoder." : "model.decoder.";
  Value ids = model.input({"input_ids", {}, config.vocabSize, config.positions});
  Value mask = model.input({"attention_mask", model.missing(DefaultKind::Ones)});
  Value places =
      model.input({"position_ids", model.missing(DefaultKind::CountBefore, "attention_mask"),
                   config.positions});
  DecoderEntry entry(import, step, config.layers, config.width);
  SmallVector<Value> packed = model.pack({ids, places}, mask);

  Body &body = model.entry();
  body.init = {config.deviation};
  model.dropout = config.dropout;
  DecoderOutput output{config.vocabSize, base + "embed_tokens", config.tied};
  output.padding = config.padding;
  output.declareTied(import, config.embeddingWidth);
  Value hidden = body.embedding(packed[0], base + "embed_tokens", config.vocabSize,
                                config.embeddingWidth, 1, config.padding);
  if (projected)
    hidden = body.linear(hidden, base + "project_in", config.width, /*hasBias=*/false);
  // The table's first two rows are for padding.
  constexpr int64_t offset = 2;
  Value table =
      body.weight(base + "embed_positions.weight", {config.positions + offset, config.width},
                  body.init.embedding(model.getContext()));
  table = body.slice(table, offset, config.positions, "positions");
  hidden = body.add(hidden, body.embedding(packed[1], table, "embed_positions"), "embeddings");
  Layer layer = makeLayer(entry, body.rows(config.width), model.sequencesType(), config);
  hidden = entry.callInTurn(layer, config.layers, base + "layers", hidden, {packed[2]});
  if (config.finalNorm)
    hidden = body.layerNorm(hidden, base + "final_layer_norm", config.norm);
  if (projected)
    hidden = body.linear(hidden, base + "project_out", config.embeddingWidth, /*hasBias=*/false);
  entry.output(output, hidden, packed[2]);
}

void transformer::buildOpt(Import &import) {
  OptConfig config = readConfig(import.config);
  if (!import.config.ok())
    return;
  import.model.aliases = {"model.", import.head != "Model", {}};
  buildDecoderEntries(import, [&](bool step) { buildEntry(import, config, step); });
}
