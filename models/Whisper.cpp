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
  bool tied;

  static WhisperConfig read(Config &config);
};

/// Builds one model.
class WhisperBuilder {
public:
  WhisperBuilder(Import &import, const WhisperConfig &config)
      : import(import), config(config), model(import.model), body(model.entry()),
        base(import.head == "Model" ? "" : "model.") {}

  void build() {
    model.aliases = {"model.", !base.empty(), {}};
    body.init = config.init;
    std::string words = base + "decoder.embed_tokens.weight";
    InitAttr init = config.init.embedding(model.getContext());
    auto type = RankedTensorType::get({config.vocabSize, config.width}, body.builder.getF32Type());
    if (config.tied)
      model.declare(words, type, init, {"proj_out.weight"});
    Input features{"input_features"};
    features.sizes = {config.mels, 2 * config.sourcePositions};
    features.real = true;
    auto [sound, source] = listen(model.input(features));
    Value memory = buildStack("encoder", config.encoder, sound, source, {}, {});

    Side target = buildSide(
        model, {config.vocabSize, config.targetPositions, model.missing(DefaultKind::Ones)}, true);
    Value table = body.weight(words, type.getShape(), init);
    Value x = body.add(body.embedding(target.ids, table, "embed_tokens"),
                       body.embedding(target.positions, base + "decoder.embed_positions",
                                      config.targetPositions, config.width),
                       "embeddings");
    Value hidden = buildStack("decoder", config.decoder, x, target.sequences, memory, source);
    SmallVector<StringRef> dims = {"batch", "decoder_sequence"};
    if (import.head == "Model")
      return model.output("last_hidden_state",
                          body.unpack(hidden, target.sequences, "last_hidden_state"), dims);
    if (!config.tied)
      table = body.weight("proj_out.weight", type.getShape(), init);
    Value logits = body.linear(hidden, table, Value(), WeightLayout::OutIn, "logits");
    model.output("logits", body.unpack(logits, target.sequences, "logits"), dims);
  }

private:
  /// The tokens of features `[batch, mels, frames]`, two frames each, and their sequences.
  std::pair<Value, Value> listen(Value features) {
    OpBuilder &b = body.builder;
    auto sequencesOf = [&](int64_t length, StringRef name) -> Value {
      return UniformSequencesOp::create(b, body.named(name), model.sequencesType(), features,
                                        length);
    };
    Value frames = sequencesOf(2 * config.sourcePositions, "frames");
    Value tokens = sequencesOf(config.sourcePositions, "tokens");
    Value x = PatchesOp::create(b, body.named("features"), body.rows(config.mels), features, frames,
                                ArrayRef<int64_t>{1}, 0);
    auto convolve = [&](Value x, Value to, const std::string &name, int64_t stride) {
      return body.activation(
          ActivationKind::Gelu,
          body.convolution(x, frames, to, base + "encoder." + name, config.width, {3, stride, 1}));
    };
    x = convolve(convolve(x, frames, "conv1", 1), tokens, "conv2", 2);
    auto type = RankedTensorType::get({ShapedType::kDynamic}, b.getI64Type());
    Value columns = TokenColumnsOp::create(b, body.named("columns"), type, tokens);
    Value places = body.embedding(columns, base + "encoder.embed_positions", config.sourcePositions,
                                  config.width);
    return {body.add(x, places, "embeddings"), tokens};
  }

  /// `memory` is null for the encoder.
  Value buildStack(const std::string &side, const WhisperConfig::Stack &stack, Value x,
                   Value sequences, Value memory, Value memorySequences) {
    Layer layer = makeLayer(side + "_layer", stack, bool(memory));
    for (int64_t i = 0; i < stack.layers; ++i) {
      SmallVector<Value> arguments = {x, sequences};
      if (memory)
        arguments.append({memory, memorySequences});
      x = model.call(layer, base + side + ".layers." + std::to_string(i), arguments,
                     memory ? "hidden" : "memory");
    }
    return body.layerNorm(x, base + side + ".layer_norm", norm);
  }

  Layer makeLayer(const std::string &name, const WhisperConfig::Stack &stack, bool decoder) {
    Type rows = body.rows(config.width), sequences = model.sequencesType();
    SmallVector<ModelBuilder::Argument> arguments = {{"x", rows}, {"sequences", sequences}};
    if (decoder)
      arguments.append({{"memory", rows}, {"memory_sequences", sequences}});
    return model.layer(name, arguments, config.init, [&](Body &layer, ValueRange own) {
      auto attend = [&](Value x, const std::string &block, const AttentionOptions &options) {
        Value y = layer.layerNorm(x, block + "_layer_norm", norm);
        Value attention = attentionOf(layer, y, own[1], block + ".", options);
        return layer.add(x, attention, "residual");
      };
      Value x = attend(own[0], "self_attn", {stack.heads, /*causal=*/decoder});
      if (decoder)
        x = attend(x, "encoder_attn", {stack.heads, /*causal=*/false, own[2], own[3]});
      Value y = layer.layerNorm(x, "final_layer_norm", norm);
      return layer.add(x, layer.feedForward(config.activation, y, "fc1", "fc2", stack.ffnWidth),
                       "residual");
    });
  }

  Value attentionOf(Body &layer, Value x, Value sequences, const std::string &block,
                    const AttentionOptions &options) {
    Value source = options.memory ? options.memory : x;
    Value q = layer.linear(x, block + "q_proj", config.width);
    // A bias of zeros: the three are then one product.
    Value matrix = layer
                       .linearWeights(block + "k_proj", config.width, config.width,
                                      WeightLayout::OutIn, layer.init, /*hasBias=*/false)
                       .first;
    Value zeros = layer.constant(SmallVector<float>(config.width, 0), "no_bias");
    Value k = layer.linear(source, matrix, zeros, WeightLayout::OutIn, "k_proj");
    Value v = layer.linear(source, block + "v_proj", config.width);
    double scale = 1 / std::sqrt(double(config.width / options.heads));
    return layer.linear(layer.attention({q, k, v}, sequences, options, scale), block + "out_proj",
                        config.width);
  }

  Import &import;
  const WhisperConfig &config;
  ModelBuilder &model;
  Body &body;
  std::string base;
  const Norm norm = {1e-5};
};

} // namespace

WhisperConfig WhisperConfig::read(Config &config) {
  WhisperConfig result;
  result.vocabSize = config.size({"vocab_size"}, 51865, Config::maxVocabulary);
  result.width = config.size({"d_model", "hidden_size"}, 384);
  result.mels = config.size({"num_mel_bins"}, 80);
  result.sourcePositions = config.size({"max_source_positions"}, 1500, Config::maxPositions);
  result.targetPositions = config.size({"max_target_positions"}, 448, Config::maxPositions);
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
  if (import.config.ok())
    WhisperBuilder(import, config).build();
}
