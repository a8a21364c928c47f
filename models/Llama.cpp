//===- Llama.cpp - Llama (Touvron et al. 2023) ----------------------------===//
#include "models/Family.h"
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;

namespace {
struct LlamaConfig {
  int64_t vocabSize, width, layers, heads, kvHeads, headDim, ffnWidth;
  ActivationKind activation;
  double eps, theta, deviation;
  bool tied, attentionBias, ffnBias;
};
} // namespace

/// The base of the rotation's frequencies: a field of its own (transformers 4)
/// or in `rope_parameters` (5), which also say how they are scaled.
static double readTheta(Config &config) {
  double theta = config.number({"rope_theta"}, 10000.0);
  for (StringRef key : {"rope_scaling", "rope_parameters"}) {
    std::optional<Config> rope = config.object(key);
    if (!rope)
      continue;
    std::string type = rope->text({"rope_type", "type"}, "default");
    theta = rope->number({"rope_theta"}, theta);
    if (!rope->ok())
      config.failFile(rope->error());
    if (type != "default")
      config.failText(key, "the type \"default\" (others are not supported)", type);
  }
  if (theta == 0)
    config.fail("rope_theta", "a number above 0", "0");
  return theta;
}

static LlamaConfig readConfig(Config &config) {
  LlamaConfig result;
  result.vocabSize = config.size({"vocab_size"}, 32000, Config::maxVocabulary);
  result.width = config.size({"hidden_size"}, 4096);
  result.layers = config.size({"num_hidden_layers"}, 32, Config::maxLayers);
  result.heads = config.size({"num_attention_heads"}, 32);
  result.kvHeads = config.size({"num_key_value_heads"}, result.heads);
  if (!config.has({"head_dim"}))
    config.checkHeads("hidden_size", result.width, "num_attention_heads", result.heads);
  result.headDim = config.size({"head_dim"}, std::max<int64_t>(1, result.width / result.heads));
  result.ffnWidth = config.size({"intermediate_size"}, 11008);
  result.activation = config.activation({"hidden_act"}, "silu");
  result.eps = config.number({"rms_norm_eps"}, 1e-6);
  result.theta = readTheta(config);
  result.deviation = config.number({"initializer_range"}, 0.02);
  result.tied = config.flag({"tie_word_embeddings"}, false);
  result.attentionBias = config.flag({"attention_bias"}, false);
  result.ffnBias = config.flag({"mlp_bias"}, false);
  config.checkHeads("num_attention_heads", result.heads, "num_key_value_heads", result.kvHeads);
  if (result.headDim % 2)
    config.fail("head_dim", "an even number, whose halves are rotated", Twine(result.headDim));
  return result;
}

/// One layer, pre-norm; `table` holds the cosines and sines of the positions.
static Layer makeLayer(ModelBuilder &model, const LlamaConfig &config) {
  Type rows = model.entry().rows(config.width), table = model.entry().rows(config.headDim);
  return model.layer(
      "decoder_layer", {{"x", rows}, {"sequences", model.sequencesType()}, {"rotary_table", table}},
      {config.deviation}, [&](Body &body, ValueRange own) {
        Value x = own[0], normed = body.rmsNorm(x, "input_layernorm", config.eps);
        auto project = [&](StringRef name, int64_t heads) {
          return body.linear(normed, name, heads * config.headDim, config.attentionBias);
        };
        Value q = project("self_attn.q_proj", config.heads);
        Value k = project("self_attn.k_proj", config.kvHeads);
        Value v = project("self_attn.v_proj", config.kvHeads);
        q = body.rotate(q, own[2], config.heads, "q_rotated");
        k = body.rotate(k, own[2], config.kvHeads, "k_rotated");
        AttentionOptions options = {config.heads, /*causal=*/true};
        options.kvHeads = config.kvHeads;
        Value attention =
            body.attention({q, k, v}, own[1], options, 1 / std::sqrt(double(config.headDim)));
        attention = body.linear(attention, "self_attn.o_proj", config.width, config.attentionBias);
        x = body.add(x, attention, "residual");
        Value ffn = body.gatedFeedForward(
            config.activation, body.rmsNorm(x, "post_attention_layernorm", config.eps),
            "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj", config.ffnWidth, config.ffnBias);
        return body.add(x, ffn, "residual");
      });
}

void transformer::buildLlama(Import &import) {
  LlamaConfig config = readConfig(import.config);
  if (!import.config.ok())
    return;
  ModelBuilder &model = import.model;
  bool baseModel = import.head == "Model";
  model.aliases = {"model.", !baseModel, {}};
  std::string base = baseModel ? "" : "model.";
  Value ids = model.input({"input_ids", {}, config.vocabSize});
  Value mask = model.input({"attention_mask", model.missing(DefaultKind::Ones)});
  Value places = model.input({"position_ids", model.missing(DefaultKind::Columns)});
  SmallVector<Value> packed = model.pack({ids, places}, mask);

  Body &body = model.entry();
  body.init = {config.deviation};
  auto vocabulary =
      RankedTensorType::get({config.vocabSize, config.width}, body.builder.getF32Type());
  InitAttr init = body.init.embedding(model.getContext());
  if (!baseModel && config.tied)
    model.declare(base + "embed_tokens.weight", vocabulary, init, {"lm_head.weight"});
  Value hidden = body.embedding(packed[0], base + "embed_tokens", config.vocabSize, config.width);
  Value table = body.rotaryTable(packed[1], config.headDim, config.theta);
  Layer layer = makeLayer(model, config);
  for (int64_t i = 0; i < config.layers; ++i)
    hidden = model.call(layer, base + "layers." + std::to_string(i), {hidden, packed[2], table});
  hidden = body.rmsNorm(hidden, base + "norm", config.eps);
  if (baseModel)
    return model.output("last_hidden_state", body.unpack(hidden, packed[2], "last_hidden_state"));
  std::string head = config.tied ? base + "embed_tokens.weight" : "lm_head.weight";
  Value matrix = body.weight(head, vocabulary.getShape(), init);
  Value logits = body.linear(hidden, matrix, Value(), WeightLayout::OutIn, "logits");
  model.output("logits", body.unpack(logits, packed[2], "logits"));
}
