//===- T5.cpp - T5 (Raffel et al. 2020) -----------------------------------===//
//
// Version 1.0 (ReLU, a tied head whose input is scaled) and 1.1 (gated GELU, a
// head of its own), FLAN's too, and the encoder alone.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "models/EncoderDecoder.h"
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;

namespace {

struct T5Config {
  int64_t vocabSize, width, headDim, heads, ffnWidth, encoderLayers, decoderLayers;
  int64_t buckets, maxDistance;
  RmsNorm norm;
  ActivationKind activation;
  bool gated, scaledOutput, ownHead;
  double factor; // of the initial deviations
};

/// The bucket of a key at a distance from its query, half of them for distances
/// of their own, the others ever wider up to `maxDistance`. In float32, as where
/// the borders between buckets come from.
int64_t bucketOf(int64_t distance, bool bothSides, int64_t buckets, int64_t maxDistance) {
  int64_t first = 0;
  if (bothSides) {
    buckets /= 2;
    first = distance > 0 ? buckets : 0;
    distance = std::abs(distance);
  } else {
    distance = std::max<int64_t>(-distance, 0);
  }
  int64_t exact = buckets / 2;
  if (distance < exact)
    return first + distance;
  auto span = static_cast<float>(std::log(double(maxDistance) / double(exact)));
  float share = std::log(float(distance) / float(exact)) / span * float(buckets - exact);
  return first + std::min(exact + static_cast<int64_t>(share), buckets - 1);
}

/// Builds one model.
class T5Builder {
public:
  T5Builder(Import &import, const T5Config &config)
      : import(import), config(config), model(import.model), body(model.entry()) {}

  void build() {
    // The names of the base model are those of every head.
    body.init = {config.factor};
    InitAttr init = body.init.embedding(model.getContext());
    auto type = RankedTensorType::get({config.vocabSize, config.width}, body.builder.getF32Type());
    SmallVector<std::string> names = {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"};
    if (!config.ownHead)
      names.push_back("lm_head.weight");
    model.declare("shared.weight", type, init, names);
    DefaultAttr ones = model.missing(DefaultKind::Ones);
    bool encoderOnly = import.head == "EncoderModel";
    Tokens source = readTokens("", ones), target;
    if (!encoderOnly)
      target = readTokens("decoder_", ones);
    Value table = body.weight("shared.weight", type.getShape(), init);
    Value memory = buildStack("encoder", config.encoderLayers, source, table, {}, {});
    if (encoderOnly)
      return model.output("last_hidden_state",
                          body.unpack(memory, source.sequences, "last_hidden_state"));
    Value hidden =
        buildStack("decoder", config.decoderLayers, target, table, memory, source.sequences);
    SmallVector<StringRef> dims = {"batch", "decoder_sequence"};
    if (import.head == "Model")
      return model.output("last_hidden_state",
                          body.unpack(hidden, target.sequences, "last_hidden_state"), dims);
    if (config.ownHead)
      table = body.weight("lm_head.weight", type.getShape(), init);
    Value logits = body.linear(hidden, table, Value(), WeightLayout::OutIn, "logits");
    model.output("logits", body.unpack(logits, target.sequences, "logits"), dims);
  }

private:
  struct Tokens {
    Value ids, sequences;
  };
  Tokens readTokens(const std::string &side, DefaultAttr ones) {
    bool decoder = !side.empty();
    Value ids = model.input({side + "input_ids", {}, config.vocabSize, 0, decoder});
    Value mask = model.input({side + "attention_mask", ones, 0, 0, decoder});
    SmallVector<Value> packed = model.pack({ids}, mask, side);
    return {packed[0], packed[1]};
  }

  /// `[heads, distances]`: the first layer's table by buckets, one column for every
  /// distance up to where the buckets end.
  Value positionBias(const std::string &side, bool decoder) {
    Value table =
        body.weight(side + ".block.0.layer.0.SelfAttention.relative_attention_bias.weight",
                    {config.buckets, config.heads}, normal(config.width));
    int64_t reach = config.maxDistance, distances = 2 * reach + 1;
    SmallVector<int64_t> buckets;
    for (int64_t d = -reach; d <= reach; ++d)
      buckets.push_back(bucketOf(d, !decoder, config.buckets, reach));
    OpBuilder &b = body.builder;
    auto idsType = RankedTensorType::get({distances}, b.getI64Type());
    Value ids = arith::ConstantOp::create(
        b, body.named("buckets"), DenseElementsAttr::get(idsType, ArrayRef<int64_t>(buckets)));
    auto type = RankedTensorType::get({distances, config.heads}, b.getF32Type());
    Location loc = body.named("position_bias");
    Value columns = EmbeddingOp::create(b, loc, type, ids, table, b.getF64FloatAttr(1));
    Value empty =
        tensor::EmptyOp::create(b, loc, ArrayRef<int64_t>{config.heads, distances}, b.getF32Type());
    return linalg::TransposeOp::create(b, loc, columns, empty, ArrayRef<int64_t>{1, 0})
        ->getResult(0);
  }

  /// `memory` is null for the encoder.
  Value buildStack(const std::string &side, int64_t layers, const Tokens &input, Value table,
                   Value memory, Value memorySequences) {
    Value bias = positionBias(side, bool(memory));
    Layer layer = makeLayer(side + "_layer", bool(memory), bias.getType());
    Value x = body.embedding(input.ids, table, "embed_tokens");
    for (int64_t i = 0; i < layers; ++i) {
      SmallVector<Value> arguments = {x, input.sequences, bias};
      if (memory)
        arguments.append({memory, memorySequences});
      x = model.call(layer, side + ".block." + std::to_string(i), arguments,
                     memory ? "hidden" : "memory");
    }
    RmsNorm norm = config.norm;
    if (memory && import.head != "Model" && config.scaledOutput)
      norm.scale = 1 / std::sqrt(double(config.width)); // only the head reads it
    return body.rmsNorm(x, side + ".final_layer_norm", norm);
  }

  Layer makeLayer(const std::string &name, bool decoder, Type bias) {
    Type rows = body.rows(config.width), sequences = model.sequencesType();
    SmallVector<ModelBuilder::Argument> arguments = {
        {"x", rows}, {"sequences", sequences}, {"position_bias", bias}};
    if (decoder)
      arguments.append({{"memory", rows}, {"memory_sequences", sequences}});
    return model.layer(name, arguments, body.init, [&](Body &layer, ValueRange own) {
      auto norm = [&](Value x, StringRef sublayer) {
        return layer.rmsNorm(x, (sublayer + ".layer_norm").str(), config.norm);
      };
      AttentionOptions options = {config.heads, /*causal=*/decoder};
      options.positionBias = own[2];
      Value x = layer.add(
          own[0], attend(layer, norm(own[0], "layer.0"), own[1], "layer.0.SelfAttention.", options),
          "residual");
      std::string ffn = "layer.1";
      if (decoder) {
        AttentionOptions cross = {config.heads, /*causal=*/false, own[3], own[4]};
        x = layer.add(x,
                      attend(layer, norm(x, "layer.1"), own[1], "layer.1.EncDecAttention.", cross),
                      "residual");
        ffn = "layer.2";
      }
      return layer.add(x, feedForward(layer, norm(x, ffn), ffn + ".DenseReluDense."), "residual");
    });
  }

  /// Scores are not scaled.
  Value attend(Body &layer, Value x, Value sequences, const std::string &block,
               const AttentionOptions &options) {
    int64_t inner = config.heads * config.headDim;
    Value source = options.memory ? options.memory : x;
    SmallVector<Value> qkv = {linear(layer, x, block + "q", inner, config.width * config.headDim),
                              linear(layer, source, block + "k", inner, config.width),
                              linear(layer, source, block + "v", inner, config.width)};
    return linear(layer, layer.attention(qkv, sequences, options, 1.0), block + "o", config.width,
                  inner);
  }

  Value feedForward(Body &layer, Value x, const std::string &block) {
    layer.init = deviation(config.width);
    InitScheme down = deviation(config.ffnWidth);
    if (config.gated)
      return layer.gatedFeedForward(config.activation, x, block + "wi_0", block + "wi_1",
                                    block + "wo", config.ffnWidth, /*hasBias=*/false, down);
    return layer.feedForward(config.activation, x, block + "wi", block + "wo", config.ffnWidth,
                             WeightLayout::OutIn, down, /*hasBias=*/false);
  }

  Value linear(Body &layer, Value x, const std::string &name, int64_t width, int64_t fan) {
    layer.init = deviation(fan);
    return layer.linear(x, name, width, /*hasBias=*/false);
  }

  InitScheme deviation(int64_t fan) const { return {config.factor / std::sqrt(double(fan))}; }
  InitAttr normal(int64_t fan) const { return deviation(fan).linearWeight(model.getContext()); }

  Import &import;
  const T5Config &config;
  ModelBuilder &model;
  Body &body;
};

} // namespace

static T5Config readConfig(Import &import) {
  Config &config = import.config;
  T5Config result;
  result.vocabSize = config.size({"vocab_size"}, 32128, Config::maxVocabulary);
  result.width = config.size({"d_model", "hidden_size"}, 512);
  result.headDim = config.size({"d_kv"}, 64);
  result.heads = config.size({"num_heads"}, 8);
  result.ffnWidth = config.size({"d_ff"}, 2048);
  result.encoderLayers = config.size({"num_layers"}, 6, Config::maxLayers);
  result.decoderLayers =
      config.size({"num_decoder_layers"}, result.encoderLayers, Config::maxLayers);
  result.buckets = config.size({"relative_attention_num_buckets"}, 32, 1 << 16);
  result.maxDistance = config.size({"relative_attention_max_distance"}, 128, 1 << 16);
  if (result.buckets < 4)
    config.fail("relative_attention_num_buckets", "at least 4", Twine(result.buckets));
  if (result.maxDistance <= result.buckets / 2)
    config.fail("relative_attention_max_distance",
                "more than half of relative_attention_num_buckets = " + Twine(result.buckets),
                Twine(result.maxDistance));
  result.norm.eps = config.number({"layer_norm_epsilon"}, 1e-6);
  result.factor = config.number({"initializer_factor"}, 1.0);
  std::string projection = config.text({"feed_forward_proj"}, "relu");
  StringRef name = projection;
  result.gated = name.consume_front("gated-");
  result.activation = projection == "gated-gelu"
                          ? ActivationKind::GeluTanh // what version 1.1 means by it
                          : config.activationNamed("feed_forward_proj", name);
  // transformers 4 took an untied head for version 1.1; 5 keeps both facts.
  bool tied = config.flag({"tie_word_embeddings"}, true);
  result.scaledOutput = config.flag({"scale_decoder_outputs"}, tied);
  result.ownHead = (!tied || !result.scaledOutput) && !import.checkpoint.lacks("lm_head.weight");
  return result;
}

void transformer::buildT5(Import &import) {
  T5Config config = readConfig(import);
  if (import.config.ok())
    T5Builder(import, config).build();
}
