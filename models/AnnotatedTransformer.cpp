//===- AnnotatedTransformer.cpp - the annotated encoder-decoder -----------===//
#include "models/EncoderDecoder.h"
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;

namespace {
struct AnnotatedConfig {
  int64_t width, heads, ffnWidth, layers, sourceVocab, targetVocab, maxLength, sourcePad, targetPad;
  bool scaled;
  Norm norm;
  double dropout, labelSmoothing;
};
} // namespace

static AnnotatedConfig readConfig(Config &config) {
  AnnotatedConfig result;
  result.width = config.size({"d_model"}, std::nullopt);
  result.heads = config.size({"n_head"}, std::nullopt);
  result.ffnWidth = config.size({"ffn_hidden"}, std::nullopt);
  result.layers = config.size({"n_layers"}, std::nullopt, Config::maxLayers);
  result.sourceVocab = config.size({"enc_voc_size"}, std::nullopt, Config::maxVocabulary);
  result.targetVocab = config.size({"dec_voc_size"}, std::nullopt, Config::maxVocabulary);
  result.maxLength = config.size({"max_len"}, std::nullopt, Config::maxPositions);
  result.sourcePad = config.integer({"src_pad_idx"}, std::nullopt, 0, result.sourceVocab);
  result.targetPad = config.integer({"trg_pad_idx"}, std::nullopt, 0, result.targetVocab);
  result.dropout = config.rate({"drop_prob"}, 0.1);
  result.labelSmoothing = config.rate({"label_smoothing"}, 0);
  result.scaled = config.flag({"scale_embedding"}, false);
  std::string norm = config.text({"layer_norm"}, "unbiased");
  double eps = config.number({"layer_norm_eps"}, 1e-5);
  if (norm == "biased")
    result.norm = {eps};
  else if (norm == "unbiased")
    result.norm = {1e-12, /*unbiased=*/true, /*epsOutside=*/false, "gamma", "beta"};
  else
    config.failText("layer_norm", "one of unbiased, biased", norm);
  if (norm == "unbiased" && result.width == 1)
    config.fail("d_model", "at least 2 for an unbiased variance", "1");
  config.checkHeads("d_model", result.width, "n_head", result.heads);
  return result;
}

namespace {

/// Builds one model, an entry point at a time.
class AnnotatedBuilder {
public:
  AnnotatedBuilder(Import &import, const AnnotatedConfig &config)
      : config(config), import(import), model(import.model) {
    for (StringRef norm : {"ln1", "ln2", "ln3"})
      for (auto [own, other] : {std::pair("weight", "gamma"), std::pair("bias", "beta")}) {
        std::string first = (norm + "." + own).str(), second = (norm + "." + other).str();
        if (config.norm.unbiased)
          std::swap(first, second);
        model.aliases.endings.push_back({first, second});
      }
  }

  void build(EntryPoint point) {
    model.dropout = {config.dropout, /*attention=*/0, config.dropout};
    Side source, target;
    if (point != EntryPoint::Step)
      source = buildSide(model,
                         {config.sourceVocab, config.maxLength,
                          model.missing(DefaultKind::NotEqual, "input_ids", config.sourcePad)},
                         false);
    if (point != EntryPoint::Encode)
      target =
          buildSide(model,
                    {config.targetVocab, config.maxLength,
                     model.missing(DefaultKind::NotEqual, "decoder_input_ids", config.targetPad)},
                    true);
    DecoderEntry entry(import, /*step=*/point != EntryPoint::Forward, config.layers, config.width,
                       /*hasSource=*/point == EntryPoint::Step);
    Value memory;
    if (point != EntryPoint::Step)
      memory = buildEncoder(source);
    if (point == EntryPoint::Encode)
      return encodeSource(entry, decoderLayers, memory, source.sequences, projections("mha2"),
                          config.heads, InitScheme{});
    Value hidden = buildDecoder(entry, target, memory, source.sequences);
    entry.outputCaches();
    buildOutput(hidden, target.sequences, point);
  }

private:
  Body &body() { return model.entry(); }

  static Projections projections(const std::string &block) {
    return {block + ".w_q", block + ".w_k", block + ".w_v", block + ".fc"};
  }

  Value embed(const Side &side, StringRef name, int64_t vocabSize, int64_t padding) {
    Value words = body().embedding(side.ids, name, vocabSize, config.width,
                                   config.scaled ? std::sqrt(double(config.width)) : 1.0, padding);
    Value where = body().sinusoids(side.positions, config.width, config.maxLength);
    return body().drop(body().add(words, where, "embeddings"));
  }

  Value buildEncoder(const Side &input) {
    Value x = embed(input, "encoder.emb.tok_emb", config.sourceVocab, config.sourcePad);
    if (!encoderLayer.function)
      encoderLayer = makeEncoderLayer();
    for (int64_t i = 0; i < config.layers; ++i)
      x = model.call(encoderLayer, "encoder.layers." + std::to_string(i), {x, input.sequences},
                     "memory");
    return x;
  }

  /// `memory` is null where the cache has the source.
  Value buildDecoder(DecoderEntry &entry, const Side &input, Value memory, Value memorySequences) {
    Value x = embed(input, "decoder.emb.tok_emb", config.targetVocab, config.targetPad);
    Layer layer = makeDecoderLayer(entry, bool(memory));
    SmallVector<Value> others = {input.sequences};
    if (memory)
      others.append({memory, memorySequences});
    return entry.callInTurn(layer, config.layers, decoderLayers, x, others);
  }

  Layer makeEncoderLayer() {
    SmallVector<ModelBuilder::Argument> arguments =
        layerArguments(model, config.width, /*hasMemory=*/false);
    return model.layer("encoder_layer", arguments, InitScheme{}, [&](Body &layer, ValueRange own) {
      Value attention =
          layer.multiHeadAttention(own[0], own[1], projections("mha"), {config.heads});
      return feedForward(layer, addNorm(layer, own[0], attention, "ln1"), "ln2");
    });
  }

  Layer makeDecoderLayer(DecoderEntry &entry, bool hasMemory) {
    auto write = [&](Body &layer, ValueRange own, LayerCache &cache) {
      Value x = own[0];
      x = addNorm(
          layer, x,
          attendSelf(layer, x, own[1], projections("mha1"), {config.heads, /*causal=*/true}, cache),
          "ln1");
      x = addNorm(layer, x, attendSource(layer, x, own, projections("mha2"), config.heads, cache),
                  "ln2");
      return feedForward(layer, x, "ln3");
    };
    return entry.layer("decoder_layer", layerArguments(model, config.width, hasMemory),
                       InitScheme{}, write);
  }

  Value addNorm(Body &layer, Value x, Value sublayer, StringRef norm) {
    return layer.layerNorm(layer.add(x, layer.drop(sublayer), "residual"), norm, config.norm);
  }

  Value feedForward(Body &layer, Value x, StringRef norm) {
    Value y = layer.feedForward(ActivationKind::Relu, x, "ffn.fc1", "ffn.fc2", config.ffnWidth);
    return addNorm(layer, x, y, norm);
  }

  void buildOutput(Value hidden, Value sequences, EntryPoint point) {
    auto logits = [&](Value rows) {
      return body().linear(rows, "decoder.linear", config.targetVocab);
    };
    if (point == EntryPoint::Step)
      return model.output("logits", logits(body().lastToken(hidden, sequences)), {"batch"});
    model.output("logits", body().unpack(logits(hidden), sequences, "logits"),
                 {"batch", "decoder_sequence"});
  }

  const std::string decoderLayers = "decoder.layers";

  const AnnotatedConfig &config;
  Import &import;
  ModelBuilder &model;
  Layer encoderLayer; // of `forward` and `encode`
};

} // namespace

void transformer::buildAnnotatedTransformer(Import &import) {
  AnnotatedConfig config = readConfig(import.config);
  if (!import.config.ok())
    return;
  AnnotatedBuilder builder(import, config);
  buildEncoderDecoderEntries(import, [&](EntryPoint point) { builder.build(point); });
  MLIRContext *context = import.model.getContext();
  import.model.setObjective(ObjectiveAttr::get(context, ObjectiveKind::TargetToken,
                                               config.targetPad, config.labelSmoothing));
}
