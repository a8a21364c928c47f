//===- NnTransformer.cpp - torch.nn.Transformer ---------------------------===//
#include "models/EncoderDecoder.h"
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;

namespace {
struct TransformerConfig {
  int64_t width, heads, encoderLayers, decoderLayers, ffnWidth, sourceVocab, targetVocab, positions;
  ActivationKind activation;
  bool normFirst, learned, scaled, tied;
  double dropout, labelSmoothing;
  int64_t padding;
  Norm norm;
  /// nn.Transformer makes all its matrices xavier_uniform; what stands outside
  /// of it (embeddings, generator) has PyTorch's defaults.
  InitScheme init = {std::nullopt, /*xavier=*/true};
};
} // namespace

static TransformerConfig readConfig(Config &config) {
  TransformerConfig result;
  result.width = config.size({"d_model"}, 512);
  result.heads = config.size({"nhead"}, 8);
  result.encoderLayers = config.size({"num_encoder_layers"}, 6, Config::maxLayers);
  result.decoderLayers = config.size({"num_decoder_layers"}, 6, Config::maxLayers);
  result.ffnWidth = config.size({"dim_feedforward"}, 2048);
  result.sourceVocab = config.size({"vocab_size"}, std::nullopt, Config::maxVocabulary);
  result.targetVocab = config.size({"tgt_vocab_size"}, result.sourceVocab, Config::maxVocabulary);
  result.positions = config.size({"max_position_embeddings"}, 512, Config::maxPositions);
  std::string activation = config.text({"activation"}, "relu");
  if (activation != "relu" && activation != "gelu")
    config.failText("activation", "one of relu, gelu", activation);
  result.activation = activation == "gelu" ? ActivationKind::Gelu : ActivationKind::Relu;
  std::string positions = config.text({"position_embedding_type"}, "sinusoidal");
  if (positions != "sinusoidal" && positions != "learned")
    config.failText("position_embedding_type", "one of sinusoidal, learned", positions);
  result.learned = positions == "learned";
  result.normFirst = config.flag({"norm_first"}, false);
  result.scaled = config.flag({"scale_embedding"}, true);
  result.tied = config.flag({"tie_word_embeddings"}, false);
  result.norm = {config.number({"layer_norm_eps"}, 1e-5)};
  result.dropout = config.rate({"dropout"}, 0.1);
  result.labelSmoothing = config.rate({"label_smoothing"}, 0);
  result.padding = config.integer({"pad_token_id"}, 0, 0, result.targetVocab);
  config.checkHeads("d_model", result.width, "nhead", result.heads);
  return result;
}

/// torch.nn.MultiheadAttention: `in_proj_weight` holds Q, K and V stacked. In
/// cross-attention its first rows project x, the others the memory.
static Value buildAttention(Body &body, Value x, Value sequences, StringRef name,
                            const AttentionOptions &options) {
  MLIRContext *context = body.builder.getContext();
  int64_t width = widthOf(x);
  InitAttr xavier = makeInit(context, InitKind::XavierUniform);
  InitAttr zeros = makeInit(context, InitKind::Zeros);
  Value weight = body.weight((name + ".in_proj_weight").str(), {3 * width, width}, xavier);
  Value bias = body.weight((name + ".in_proj_bias").str(), {3 * width}, zeros);
  constexpr WeightLayout layout = WeightLayout::OutIn;
  SmallVector<Value> qkv;
  if (options.memory) {
    qkv.push_back(body.linear(x, body.slice(weight, 0, width, "query_weight"),
                              body.slice(bias, 0, width, "query_bias"), layout, "query"));
    Value merged = body.linear(options.memory, body.slice(weight, width, 2 * width, "kv_weight"),
                               body.slice(bias, width, 2 * width, "kv_bias"), layout, "merged");
    llvm::append_range(qkv, body.split(merged, 2, "kv"));
  } else {
    qkv = body.split(body.linear(x, weight, bias, layout, "merged"), 3, "qkv");
  }
  Value attention =
      body.attention(qkv, sequences, options, 1 / std::sqrt(double(width / options.heads)));
  return body.linear(
      attention, body.weight((name + ".out_proj.weight").str(), {width, width}, xavier),
      body.weight((name + ".out_proj.bias").str(), {width}, zeros), layout, "out_proj");
}

/// x + f(norm(x)) or norm(x + f(x)).
static Value buildSublayer(Body &body, const TransformerConfig &config, Value x, StringRef norm,
                           llvm::function_ref<Value(Value)> f) {
  if (config.normFirst)
    return body.add(x, body.drop(f(body.layerNorm(x, norm, config.norm))), "residual");
  return body.layerNorm(body.add(x, body.drop(f(x)), "residual"), norm, config.norm);
}

static Layer makeLayer(ModelBuilder &model, const TransformerConfig &config, bool decoder) {
  Type rows = model.entry().rows(config.width), sequences = model.sequencesType();
  SmallVector<ModelBuilder::Argument> arguments = {{"x", rows}, {"sequences", sequences}};
  if (decoder)
    arguments.append({{"memory", rows}, {"memory_sequences", sequences}});
  StringRef name = decoder ? "decoder_layer" : "encoder_layer";
  return model.layer(name, arguments, config.init, [&](Body &body, ValueRange own) {
    Value x = buildSublayer(body, config, own[0], "norm1", [&](Value x) {
      return buildAttention(body, x, own[1], "self_attn", {config.heads, /*causal=*/decoder});
    });
    if (decoder)
      x = buildSublayer(body, config, x, "norm2", [&](Value x) {
        return buildAttention(body, x, own[1], "multihead_attn",
                              {config.heads, /*causal=*/false, own[2], own[3]});
      });
    return buildSublayer(body, config, x, decoder ? "norm3" : "norm2", [&](Value x) {
      return body.feedForward(config.activation, x, "linear1", "linear2", config.ffnWidth);
    });
  });
}

/// Embedding and positions of one side; `name` is "src" or "tgt".
static Value buildEmbedding(Body &body, const TransformerConfig &config, const Side &side,
                            const std::string &name, int64_t vocabSize) {
  Value words = body.embedding(side.ids, name + "_embed", vocabSize, config.width,
                               config.scaled ? std::sqrt(double(config.width)) : 1.0);
  Value where = config.learned ? body.embedding(side.positions, name + "_pos_embed",
                                                config.positions, config.width)
                               : body.sinusoids(side.positions, config.width, config.positions);
  return body.drop(body.add(words, where, "embeddings"));
}

void transformer::buildNnTransformer(Import &import) {
  TransformerConfig config = readConfig(import.config);
  if (!import.config.ok())
    return;
  ModelBuilder &model = import.model;
  model.dropout = {config.dropout, config.dropout, config.dropout};
  Body &body = model.entry();
  DefaultAttr ones = model.missing(DefaultKind::Ones);
  Side source = buildSide(model, {config.sourceVocab, config.positions, ones}, false);
  Side target = buildSide(model, {config.targetVocab, config.positions, ones}, true);

  Value memory = buildEmbedding(body, config, source, "src", config.sourceVocab);
  Layer encoderLayer = makeLayer(model, config, /*decoder=*/false);
  for (int64_t i = 0; i < config.encoderLayers; ++i)
    memory = model.call(encoderLayer, "transformer.encoder.layers." + std::to_string(i),
                        {memory, source.sequences}, "memory");
  memory = body.layerNorm(memory, "transformer.encoder.norm", config.norm);

  if (config.tied)
    model.declare(
        "tgt_embed.weight",
        RankedTensorType::get({config.targetVocab, config.width}, body.builder.getF32Type()),
        body.init.embedding(model.getContext()), {"generator.weight"});
  Value hidden = buildEmbedding(body, config, target, "tgt", config.targetVocab);
  Layer decoderLayer = makeLayer(model, config, /*decoder=*/true);
  for (int64_t i = 0; i < config.decoderLayers; ++i)
    hidden = model.call(decoderLayer, "transformer.decoder.layers." + std::to_string(i),
                        {hidden, target.sequences, memory, source.sequences});
  hidden = body.layerNorm(hidden, "transformer.decoder.norm", config.norm);

  Value matrix =
      body.weight(config.tied ? "tgt_embed.weight" : "generator.weight",
                  {config.targetVocab, config.width}, body.init.linearWeight(model.getContext()));
  Value bias = body.weight("generator.bias", {config.targetVocab},
                           body.init.linearBias(model.getContext(), config.width));
  Value logits = body.linear(hidden, matrix, bias, WeightLayout::OutIn, "logits");
  model.output("logits", body.unpack(logits, target.sequences, "logits"),
               {"batch", "decoder_sequence"});
  model.setObjective(ObjectiveAttr::get(model.getContext(), ObjectiveKind::TargetToken,
                                        config.padding, config.labelSmoothing));
}
