//===- Whisper.cpp - Whisper (Radford et al. 2022) ------------------------===//
//
// The encoder reads the features of 30 seconds of sound, of which two
// convolutions over time make tokens; the decoder is one for text. Keys have no
// bias.
//
//===----------------------------------------------------------------------===//
#include "models/EncoderDecoder.h"
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;

namespace {

struct WhisperConfig {
  struct Stack {
    int64_t layers, heads, ffnWidth;
  };
  int64_t vocabSize, width, mels, sourcePositions, targetPositions;
  Stack encoder, decoder;
  ActivationKind activation;
  InitScheme init;
  std::optional<int64_t> padding; // the row of words that is not trained
  bool tied;
  DropoutRates dropout;

  static WhisperConfig read(Config &config);
};

/// Builds one model, an entry point at a time.
class WhisperBuilder {
public:
  WhisperBuilder(Import &import, const WhisperConfig &config)
      : import(import), config(config), model(import.model),
        base(import.head == "Model" ? "" : "model.") {
    model.aliases = {"model.", !base.empty(), {}};
  }

  void build(EntryPoint point) {
    body().init = config.init;
    model.dropout = config.dropout;
    if (config.tied)
      model.declare(wordsName(), tableType(), wordsInit(), {"proj_out.weight"});
    Value memory, source;
    if (point != EntryPoint::Step) {
      Input features{"input_features"};
      features.sizes = {config.mels, 2 * config.sourcePositions};
      features.real = true;
      Value x;
      std::tie(x, source) = listen(model.input(features));
      memory = buildEncoder(x, source);
    }
    Side target;
    if (point != EntryPoint::Encode)
      target = buildSide(
          model, {config.vocabSize, config.targetPositions, model.missing(DefaultKind::Ones)},
          true);
    DecoderEntry entry(import, /*step=*/point != EntryPoint::Forward, config.decoder.layers,
                       config.width, /*hasSource=*/point == EntryPoint::Step,
                       point == EntryPoint::Encode ? config.sourcePositions : 0);
    if (point == EntryPoint::Encode)
      return entry.encode(base + "decoder.layers", memory, source, config.decoder.heads,
                          config.init, [&](Body &layer, Value x) {
                            return std::pair(projectKeys(layer, x, "encoder_attn."),
                                             project(layer, x, "encoder_attn.v_proj"));
                          });
    Value table = body().weight(wordsName(), tableType().getShape(), wordsInit());
    Value hidden = buildDecoder(entry, target, table, memory, source);
    entry.outputCaches();
    buildOutput(hidden, target.sequences, table, point);
  }

private:
  Body &body() { return model.entry(); }

  RankedTensorType tableType() {
    return RankedTensorType::get({config.vocabSize, config.width}, body().builder.getF32Type());
  }

  std::string wordsName() const { return base + "decoder.embed_tokens.weight"; }
  InitAttr wordsInit() { return config.init.embedding(model.getContext(), config.padding); }

  void buildOutput(Value hidden, Value sequences, Value table, EntryPoint point) {
    SmallVector<StringRef> dims = {"batch", "decoder_sequence"};
    if (import.head == "Model")
      return model.output("last_hidden_state",
                          body().unpack(hidden, sequences, "last_hidden_state"), dims);
    if (!config.tied)
      table = body().weight("proj_out.weight", tableType().getShape(),
                            config.init.embedding(model.getContext()));
    auto logits = [&](Value rows) {
      return body().linear(rows, table, Value(), WeightLayout::OutIn, "logits");
    };
    if (point == EntryPoint::Step)
      return model.output("logits", logits(body().lastToken(hidden, sequences)), {"batch"});
    model.output("logits", body().unpack(logits(hidden), sequences, "logits"), dims);
  }

  /// The tokens of features `[batch, mels, frames]`, two frames each, and their sequences.
  std::pair<Value, Value> listen(Value features) {
    OpBuilder &b = body().builder;
    auto sequencesOf = [&](int64_t length, StringRef name) -> Value {
      return UniformSequencesOp::create(b, body().named(name), model.sequencesType(), features,
                                        length);
    };
    Value frames = sequencesOf(2 * config.sourcePositions, "frames");
    Value tokens = sequencesOf(config.sourcePositions, "tokens");
    Value x = PatchesOp::create(b, body().named("features"), body().rows(config.mels), features,
                                frames, ArrayRef<int64_t>{1}, 0);
    auto convolve = [&](Value x, Value to, const std::string &name, int64_t stride) {
      return body().activation(ActivationKind::Gelu,
                               body().convolution(x, frames, to, base + "encoder." + name,
                                                  config.width, {3, stride, 1}));
    };
    x = convolve(convolve(x, frames, "conv1", 1), tokens, "conv2", 2);
    auto type = RankedTensorType::get({ShapedType::kDynamic}, b.getI64Type());
    Value columns = TokenColumnsOp::create(b, body().named("columns"), type, tokens);
    std::string table = base + "encoder.embed_positions";
    model.declareFrozen(table + ".weight", {config.sourcePositions, config.width},
                        makeInit(model.getContext(), InitKind::Sinusoids,
                                 std::max(double(config.width) / 2 - 1, 1.0)));
    Value places = body().embedding(columns, table, config.sourcePositions, config.width);
    return {body().drop(body().add(x, places, "embeddings")), tokens};
  }

  Value finish(Value x, const std::string &side) {
    return body().layerNorm(x, base + side + ".layer_norm", norm);
  }

  Value buildEncoder(Value x, Value sequences) {
    if (!encoderLayer.function)
      encoderLayer = model.layer(
          "encoder_layer", {{"x", body().rows(config.width)}, {"sequences", model.sequencesType()}},
          config.init, [&](Body &layer, ValueRange own) {
            Value y = attend(layer, own[0], own[1], "self_attn", {config.encoder.heads});
            return feedForward(layer, y, config.encoder);
          });
    for (int64_t i = 0; i < config.encoder.layers; ++i)
      x = model.call(encoderLayer, base + "encoder.layers." + std::to_string(i), {x, sequences},
                     "memory");
    return finish(x, "encoder");
  }

  /// `memory` is null where the cache has the source.
  Value buildDecoder(DecoderEntry &entry, const Side &input, Value table, Value memory,
                     Value memorySequences) {
    Value x = body().add(body().embedding(input.ids, table, "embed_tokens", 1, config.padding),
                         body().embedding(input.positions, base + "decoder.embed_positions",
                                          config.targetPositions, config.width),
                         "embeddings");
    x = body().drop(x);
    auto write = [&](Body &layer, ValueRange own, LayerCache &cache) {
      Value y = attend(layer, own[0], own[1], "self_attn", {config.decoder.heads, /*causal=*/true},
                       &cache);
      AttentionOptions options = {config.decoder.heads};
      if (cache)
        y = attendSource(layer, y, own[1], options, cache);
      else
        y = attend(layer, y, own[1], "encoder_attn",
                   {config.decoder.heads, /*causal=*/false, own[2], own[3]});
      return feedForward(layer, y, config.decoder);
    };
    Layer layer = entry.layer("decoder_layer", layerArguments(model, config.width, bool(memory)),
                              config.init, write);
    SmallVector<Value> others = {input.sequences};
    if (memory)
      others.append({memory, memorySequences});
    x = entry.callInTurn(layer, config.decoder.layers, base + "decoder.layers", x, others);
    return finish(x, "decoder");
  }

  /// x plus attention behind a norm; with a `cache` of its own rows in that.
  Value attend(Body &layer, Value x, Value sequences, const std::string &block,
               const AttentionOptions &options, LayerCache *cache = nullptr) {
    Value y = layer.layerNorm(x, block + "_layer_norm", norm);
    Value source = options.memory ? options.memory : y;
    SmallVector<Value> qkv = {project(layer, y, block + ".q_proj"),
                              projectKeys(layer, source, block + "."),
                              project(layer, source, block + ".v_proj")};
    Value read = cache && *cache ? cache->attend(layer, qkv, sequences, options, scale(options))
                                 : layer.attention(qkv, sequences, options, scale(options));
    return layer.add(x, layer.drop(project(layer, read, block + ".out_proj")), "residual");
  }

  Value attendSource(Body &layer, Value x, Value sequences, const AttentionOptions &options,
                     const LayerCache &cache) {
    Value q =
        project(layer, layer.layerNorm(x, "encoder_attn_layer_norm", norm), "encoder_attn.q_proj");
    Value read = cache.attendSource(layer, q, sequences, options, scale(options));
    return layer.add(x, project(layer, read, "encoder_attn.out_proj"), "residual");
  }

  Value feedForward(Body &layer, Value x, const WhisperConfig::Stack &stack) {
    Value y = layer.layerNorm(x, "final_layer_norm", norm);
    y = layer.feedForward(config.activation, y, "fc1", "fc2", stack.ffnWidth);
    return layer.add(x, layer.drop(y), "residual");
  }

  Value project(Body &layer, Value x, StringRef name) {
    return layer.linear(x, name, config.width);
  }

  /// With a bias of zeros: query, key and value are then one product.
  Value projectKeys(Body &layer, Value x, const std::string &block) {
    Value matrix = layer
                       .linearWeights(block + "k_proj", config.width, config.width,
                                      WeightLayout::OutIn, layer.init, /*hasBias=*/false)
                       .first;
    Value zeros = layer.constant(SmallVector<float>(config.width, 0), "no_bias");
    return layer.linear(x, matrix, zeros, WeightLayout::OutIn, "k_proj");
  }

  double scale(const AttentionOptions &options) const {
    return 1 / std::sqrt(double(config.width / options.heads));
  }

  Import &import;
  const WhisperConfig &config;
  ModelBuilder &model;
  std::string base;
  const Norm norm = {1e-5};
  Layer encoderLayer; // of `forward` and `encode`
};

} // namespace

WhisperConfig WhisperConfig::read(Config &config) {
  WhisperConfig result;
  result.vocabSize = config.size({"vocab_size"}, 51865, Config::maxVocabulary);
  result.padding = config.padding(result.vocabSize, 50256);
  result.width = config.size({"d_model", "hidden_size"}, 384);
  result.mels = config.size({"num_mel_bins"}, 80);
  result.sourcePositions = config.size({"max_source_positions"}, 1500, Config::maxPositions);
  result.targetPositions = config.size({"max_target_positions"}, 448, Config::maxPositions);
  result.dropout = {config.rate({"dropout"}, 0), config.rate({"attention_dropout"}, 0),
                    config.rate({"activation_dropout"}, 0)};
  auto readStack = [&](const std::string &side) {
    Stack stack;
    stack.layers = config.size({side + "_layers"}, 4, Config::maxLayers);
    stack.heads = config.size({side + "_attention_heads"}, 6);
    stack.ffnWidth = config.size({side + "_ffn_dim"}, 1536, 4 * Config::maxWidth);
    config.checkHeads("d_model", result.width, side + "_attention_heads", stack.heads);
    return stack;
  };
  result.encoder = readStack("encoder");
  result.decoder = readStack("decoder");
  result.activation = config.activation({"activation_function"}, "gelu");
  result.init = {config.number({"init_std"}, 0.02)};
  result.tied = config.flag({"tie_word_embeddings"}, true);
  return result;
}

void transformer::buildWhisper(Import &import) {
  WhisperConfig config = WhisperConfig::read(import.config);
  if (!import.config.ok())
    return;
  WhisperBuilder builder(import, config);
  buildEncoderDecoderEntries(import, [&](EntryPoint point) { builder.build(point); });
}
