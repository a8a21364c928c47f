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

namespace {

/// Builds one model, an entry point at a time.
class NnTransformerBuilder {
public:
  NnTransformerBuilder(Import &import, const TransformerConfig &config)
      : config(config), import(import), model(import.model) {}

  void build(EntryPoint point) {
    model.dropout = {config.dropout, config.dropout, config.dropout};
    DefaultAttr ones = model.missing(DefaultKind::Ones);
    Side source, target;
    if (point != EntryPoint::Step)
      source = buildSide(model, {config.sourceVocab, config.positions, ones}, false);
    if (point != EntryPoint::Encode)
      target = buildSide(model, {config.targetVocab, config.positions, ones}, true);
    DecoderEntry entry(import, /*step=*/point != EntryPoint::Forward, config.decoderLayers,
                       config.width, /*hasSource=*/point == EntryPoint::Step);
    Value memory;
    if (point != EntryPoint::Step)
      memory = buildEncoder(source);
    if (point == EntryPoint::Encode)
      return entry.encode(decoderLayers, memory, source.sequences, config.heads, config.init,
                          [&](Body &layer, Value x) {
                            SmallVector<Value> kv = projectMemory(layer, x);
                            return std::pair(kv[0], kv[1]);
                          });
    Value hidden = buildDecoder(entry, target, memory, source.sequences);
    entry.outputCaches();
    buildOutput(hidden, target.sequences, point);
  }

private:
  Body &body() { return model.entry(); }

  /// Embedding and positions of one side; `name` is "src" or "tgt".
  Value embed(const Side &side, const std::string &name, int64_t vocabSize) {
    Value words = body().embedding(side.ids, name + "_embed", vocabSize, config.width,
                                   config.scaled ? std::sqrt(double(config.width)) : 1.0);
    Value where = config.learned ? body().embedding(side.positions, name + "_pos_embed",
                                                    config.positions, config.width)
                                 : body().sinusoids(side.positions, config.width, config.positions);
    return body().drop(body().add(words, where, "embeddings"));
  }

  Value buildEncoder(const Side &input) {
    Value x = embed(input, "src", config.sourceVocab);
    if (!encoderLayer.function)
      encoderLayer = makeEncoderLayer();
    for (int64_t i = 0; i < config.encoderLayers; ++i)
      x = model.call(encoderLayer, "transformer.encoder.layers." + std::to_string(i),
                     {x, input.sequences}, "memory");
    return body().layerNorm(x, "transformer.encoder.norm", config.norm);
  }

  /// `memory` is null where the cache has the source.
  Value buildDecoder(DecoderEntry &entry, const Side &input, Value memory, Value memorySequences) {
    if (config.tied)
      model.declare("tgt_embed.weight", headType(), body().init.embedding(model.getContext()),
                    {"generator.weight"});
    Value x = embed(input, "tgt", config.targetVocab);
    Layer layer = makeDecoderLayer(entry, bool(memory));
    SmallVector<Value> others = {input.sequences};
    if (memory)
      others.append({memory, memorySequences});
    x = entry.callInTurn(layer, config.decoderLayers, decoderLayers, x, others);
    return body().layerNorm(x, "transformer.decoder.norm", config.norm);
  }

  Layer makeEncoderLayer() {
    return model.layer("encoder_layer",
                       {{"x", body().rows(config.width)}, {"sequences", model.sequencesType()}},
                       config.init, [&](Body &layer, ValueRange own) {
                         Value x = sublayer(layer, own[0], "norm1", [&](Value y) {
                           LayerCache none;
                           return attendSelf(layer, y, own[1], /*causal=*/false, none);
                         });
                         return feedForward(layer, x, "norm2");
                       });
  }

  Layer makeDecoderLayer(DecoderEntry &entry, bool hasMemory) {
    auto write = [&](Body &layer, ValueRange own, LayerCache &cache) {
      Value x = sublayer(layer, own[0], "norm1", [&](Value y) {
        return attendSelf(layer, y, own[1], /*causal=*/true, cache);
      });
      x = sublayer(layer, x, "norm2", [&](Value y) {
        SmallVector<Value> qkv = {projectQuery(layer, y)};
        if (cache)
          return projectOut(layer,
                            cache.attendSource(layer, qkv[0], own[1], {config.heads}, scale()),
                            crossBlock);
        llvm::append_range(qkv, projectMemory(layer, own[2]));
        AttentionOptions options = {config.heads, /*causal=*/false, own[2], own[3]};
        return projectOut(layer, layer.attention(qkv, own[1], options, scale()), crossBlock);
      });
      return feedForward(layer, x, "norm3");
    };
    return entry.layer("decoder_layer", layerArguments(model, config.width, hasMemory), config.init,
                       write);
  }

  /// x + f(norm(x)) or norm(x + f(x)).
  Value sublayer(Body &layer, Value x, StringRef norm, llvm::function_ref<Value(Value)> f) {
    if (config.normFirst)
      return layer.add(x, layer.drop(f(layer.layerNorm(x, norm, config.norm))), "residual");
    return layer.layerNorm(layer.add(x, layer.drop(f(x)), "residual"), norm, config.norm);
  }

  Value feedForward(Body &layer, Value x, StringRef norm) {
    return sublayer(layer, x, norm, [&](Value y) {
      return layer.feedForward(config.activation, y, "linear1", "linear2", config.ffnWidth);
    });
  }

  Value attendSelf(Body &layer, Value x, Value sequences, bool causal, LayerCache &cache) {
    auto [weight, bias] = stacked(layer, selfBlock);
    SmallVector<Value> qkv =
        layer.split(layer.linear(x, weight, bias, WeightLayout::OutIn, "merged"), 3, "qkv");
    return projectOut(layer, cache.attend(layer, qkv, sequences, {config.heads, causal}, scale()),
                      selfBlock);
  }

  /// Of cross-attention's stacked rows the first project x, the others the memory.
  Value projectQuery(Body &layer, Value x) {
    auto [weight, bias] = stacked(layer, crossBlock);
    return layer.linear(x, layer.slice(weight, 0, config.width, "query_weight"),
                        layer.slice(bias, 0, config.width, "query_bias"), WeightLayout::OutIn,
                        "query");
  }

  SmallVector<Value> projectMemory(Body &layer, Value memory) {
    auto [weight, bias] = stacked(layer, crossBlock);
    int64_t width = config.width;
    Value merged =
        layer.linear(memory, layer.slice(weight, width, 2 * width, "kv_weight"),
                     layer.slice(bias, width, 2 * width, "kv_bias"), WeightLayout::OutIn, "merged");
    return layer.split(merged, 2, "kv");
  }

  /// torch.nn.MultiheadAttention: `in_proj_weight` holds Q, K and V stacked.
  std::pair<Value, Value> stacked(Body &layer, const std::string &block) {
    Value weight =
        layer.weight(block + ".in_proj_weight", {3 * config.width, config.width}, xavier());
    return {weight, layer.weight(block + ".in_proj_bias", {3 * config.width}, zeros())};
  }

  Value projectOut(Body &layer, Value x, const std::string &block) {
    Value weight = layer.weight(block + ".out_proj.weight", {config.width, config.width}, xavier());
    return layer.linear(x, weight, layer.weight(block + ".out_proj.bias", {config.width}, zeros()),
                        WeightLayout::OutIn, "out_proj");
  }

  InitAttr xavier() const { return makeInit(model.getContext(), InitKind::XavierUniform); }
  InitAttr zeros() const { return makeInit(model.getContext(), InitKind::Zeros); }
  double scale() const { return 1 / std::sqrt(double(config.width / config.heads)); }

  RankedTensorType headType() {
    return RankedTensorType::get({config.targetVocab, config.width}, body().builder.getF32Type());
  }

  void buildOutput(Value hidden, Value sequences, EntryPoint point) {
    MLIRContext *context = model.getContext();
    Value matrix = body().weight(config.tied ? "tgt_embed.weight" : "generator.weight",
                                 headType().getShape(), body().init.linearWeight(context));
    Value bias = body().weight("generator.bias", {config.targetVocab},
                               body().init.linearBias(context, config.width));
    auto logits = [&](Value rows) {
      return body().linear(rows, matrix, bias, WeightLayout::OutIn, "logits");
    };
    if (point == EntryPoint::Step)
      return model.output("logits", logits(body().lastToken(hidden, sequences)), {"batch"});
    model.output("logits", body().unpack(logits(hidden), sequences, "logits"),
                 {"batch", "decoder_sequence"});
  }

  const std::string decoderLayers = "transformer.decoder.layers";
  const std::string selfBlock = "self_attn", crossBlock = "multihead_attn";

  const TransformerConfig &config;
  Import &import;
  ModelBuilder &model;
  Layer encoderLayer; // of `forward` and `encode`
};

} // namespace

void transformer::buildNnTransformer(Import &import) {
  TransformerConfig config = readConfig(import.config);
  if (!import.config.ok())
    return;
  NnTransformerBuilder builder(import, config);
  buildEncoderDecoderEntries(import, [&](EntryPoint point) { builder.build(point); });
  MLIRContext *context = import.model.getContext();
  import.model.setObjective(ObjectiveAttr::get(context, ObjectiveKind::TargetToken, config.padding,
                                               config.labelSmoothing));
}
