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

static std::array<std::string, 4> attentionNames(const std::string &block) {
  return {block + ".w_q", block + ".w_k", block + ".w_v", block + ".fc"};
}

/// One layer, post-norm: a decoder's has cross-attention as its second block.
static Layer makeLayer(ModelBuilder &model, const AnnotatedConfig &config, bool decoder) {
  SmallVector<ModelBuilder::Argument> arguments = layerArguments(model, config.width, decoder);
  StringRef name = decoder ? "decoder_layer" : "encoder_layer";
  return model.layer(name, arguments, InitScheme{}, [&](Body &body, ValueRange own) {
    auto addNorm = [&](Value x, Value sublayer, StringRef norm) {
      return body.layerNorm(body.add(x, body.drop(sublayer), "residual"), norm, config.norm);
    };
    Value x = own[0];
    x = addNorm(x,
                body.multiHeadAttention(x, own[1], attentionNames(decoder ? "mha1" : "mha"),
                                        {config.heads, /*causal=*/decoder}),
                "ln1");
    if (decoder)
      x = addNorm(x,
                  body.multiHeadAttention(x, own[1], attentionNames("mha2"),
                                          {config.heads, /*causal=*/false, own[2], own[3]}),
                  "ln2");
    return addNorm(x,
                   body.feedForward(ActivationKind::Relu, x, "ffn.fc1", "ffn.fc2", config.ffnWidth),
                   decoder ? "ln3" : "ln2");
  });
}

static Value buildEmbedding(Body &body, const AnnotatedConfig &config, const Side &side,
                            StringRef name, int64_t vocabSize, int64_t padding) {
  Value words = body.embedding(side.ids, name, vocabSize, config.width,
                               config.scaled ? std::sqrt(double(config.width)) : 1.0, padding);
  Value where = body.sinusoids(side.positions, config.width, config.maxLength);
  return body.drop(body.add(words, where, "embeddings"));
}

void transformer::buildAnnotatedTransformer(Import &import) {
  AnnotatedConfig config = readConfig(import.config);
  if (!import.config.ok())
    return;
  ModelBuilder &model = import.model;
  model.dropout = {config.dropout, /*attention=*/0, config.dropout};
  Body &body = model.entry();
  for (StringRef norm : {"ln1", "ln2", "ln3"})
    for (auto [own, other] : {std::pair("weight", "gamma"), std::pair("bias", "beta")}) {
      std::string first = (norm + "." + own).str(), second = (norm + "." + other).str();
      if (config.norm.unbiased)
        std::swap(first, second);
      model.aliases.endings.push_back({first, second});
    }

  Side source = buildSide(model,
                          {config.sourceVocab, config.maxLength,
                           model.missing(DefaultKind::NotEqual, "input_ids", config.sourcePad)},
                          false);
  Side target =
      buildSide(model,
                {config.targetVocab, config.maxLength,
                 model.missing(DefaultKind::NotEqual, "decoder_input_ids", config.targetPad)},
                true);

  Value memory = buildEmbedding(body, config, source, "encoder.emb.tok_emb", config.sourceVocab,
                                config.sourcePad);
  Layer encoderLayer = makeLayer(model, config, /*decoder=*/false);
  for (int64_t i = 0; i < config.layers; ++i)
    memory = model.call(encoderLayer, "encoder.layers." + std::to_string(i),
                        {memory, source.sequences}, "memory");

  Value hidden = buildEmbedding(body, config, target, "decoder.emb.tok_emb", config.targetVocab,
                                config.targetPad);
  Layer decoderLayer = makeLayer(model, config, /*decoder=*/true);
  for (int64_t i = 0; i < config.layers; ++i)
    hidden = model.call(decoderLayer, "decoder.layers." + std::to_string(i),
                        {hidden, target.sequences, memory, source.sequences});
  Value logits = body.linear(hidden, "decoder.linear", config.targetVocab);
  model.output("logits", body.unpack(logits, target.sequences, "logits"),
               {"batch", "decoder_sequence"});
  model.setObjective(ObjectiveAttr::get(model.getContext(), ObjectiveKind::TargetToken,
                                        config.targetPad, config.labelSmoothing));
}
