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
  double dropout;
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

/// Builds one model, an entry point at a time.
class T5Builder {
public:
  T5Builder(Import &import, const T5Config &config)
      : import(import), config(config), model(import.model) {}

  void build(EntryPoint point) {
    body().init = {config.factor};
    model.dropout = {config.dropout, config.dropout, config.dropout};
    Value table = readTable();
    DefaultAttr ones = model.missing(DefaultKind::Ones);
    Side source, target;
    if (point != EntryPoint::Step)
      source = buildSide(model, {config.vocabSize, 0, ones}, false);
    if (encoderOnly())
      return model.output(
          "last_hidden_state",
          body().unpack(buildEncoder(source, table), source.sequences, "last_hidden_state"));
    if (point != EntryPoint::Encode)
      target = buildSide(model, {config.vocabSize, 0, ones}, true);
    DecoderEntry entry(import, /*step=*/point != EntryPoint::Forward, config.decoderLayers, inner(),
                       /*hasSource=*/point == EntryPoint::Step);
    Value memory;
    if (point != EntryPoint::Step)
      memory = buildEncoder(source, table);
    if (point == EntryPoint::Encode)
      return entry.encode("decoder.block", memory, source.sequences, config.heads, body().init,
                          [&](Body &layer, Value x) {
                            return std::pair(project(layer, x, cross + "k"),
                                             project(layer, x, cross + "v"));
                          });
    Value hidden = buildDecoder(entry, target, table, memory, source.sequences);
    entry.outputCaches();
    buildOutput(hidden, target.sequences, table, point);
  }

  bool encoderOnly() const { return import.head == "EncoderModel"; }

private:
  Body &body() { return model.entry(); }
  int64_t inner() const { return config.heads * config.headDim; }

  /// The names of the base model are those of every head.
  Value readTable() {
    InitAttr init = body().init.embedding(model.getContext());
    auto type =
        RankedTensorType::get({config.vocabSize, config.width}, body().builder.getF32Type());
    SmallVector<std::string> names = {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"};
    if (!config.ownHead)
      names.push_back("lm_head.weight");
    model.declare("shared.weight", type, init, names);
    return body().weight("shared.weight", type.getShape(), init);
  }

  /// `[heads, distances]`: the first layer's table by buckets, one column for every
  /// distance up to where the buckets end.
  Value positionBias(const std::string &side, bool decoder) {
    Value table =
        body().weight(side + ".block.0.layer.0.SelfAttention.relative_attention_bias.weight",
                      {config.buckets, config.heads}, normal(config.width));
    int64_t reach = config.maxDistance, distances = 2 * reach + 1;
    SmallVector<int64_t> buckets;
    for (int64_t d = -reach; d <= reach; ++d)
      buckets.push_back(bucketOf(d, !decoder, config.buckets, reach));
    OpBuilder &b = body().builder;
    auto idsType = RankedTensorType::get({distances}, b.getI64Type());
    Value ids = arith::ConstantOp::create(
        b, body().named("buckets"), DenseElementsAttr::get(idsType, ArrayRef<int64_t>(buckets)));
    auto type = RankedTensorType::get({distances, config.heads}, b.getF32Type());
    Location loc = body().named("position_bias");
    Value columns =
        EmbeddingOp::create(b, loc, type, ids, table, b.getF64FloatAttr(1), IntegerAttr());
    Value empty =
        tensor::EmptyOp::create(b, loc, ArrayRef<int64_t>{config.heads, distances}, b.getF32Type());
    return linalg::TransposeOp::create(b, loc, columns, empty, ArrayRef<int64_t>{1, 0})
        ->getResult(0);
  }

  Value buildEncoder(const Side &input, Value table) {
    Value bias = positionBias("encoder", /*decoder=*/false);
    Value x = body().drop(body().embedding(input.ids, table, "embed_tokens"));
    if (!encoderLayer.function)
      encoderLayer = makeEncoderLayer(bias.getType());
    for (int64_t i = 0; i < config.encoderLayers; ++i)
      x = model.call(encoderLayer, "encoder.block." + std::to_string(i), {x, input.sequences, bias},
                     "memory");
    return body().drop(body().rmsNorm(x, "encoder.final_layer_norm", config.norm));
  }

  /// `memory` is null where the cache has the source.
  Value buildDecoder(DecoderEntry &entry, const Side &input, Value table, Value memory,
                     Value memorySequences) {
    Value bias = positionBias("decoder", /*decoder=*/true);
    Value x = body().drop(body().embedding(input.ids, table, "embed_tokens"));
    Layer layer = makeDecoderLayer(entry, bias.getType(), bool(memory));
    SmallVector<Value> others = {input.sequences, bias};
    if (memory)
      others.append({memory, memorySequences});
    x = entry.callInTurn(layer, config.decoderLayers, "decoder.block", x, others);
    RmsNorm norm = config.norm;
    if (import.head != "Model" && config.scaledOutput)
      norm.scale = 1 / std::sqrt(double(config.width)); // only the head reads it
    return body().drop(body().rmsNorm(x, "decoder.final_layer_norm", norm));
  }

  Layer makeEncoderLayer(Type bias) {
    return model.layer("encoder_layer",
                       {{"x", body().rows(config.width)},
                        {"sequences", model.sequencesType()},
                        {"position_bias", bias}},
                       body().init, [&](Body &layer, ValueRange own) {
                         AttentionOptions options = {config.heads};
                         options.positionBias = own[2];
                         Value y = normalize(layer, own[0], "layer.0");
                         SmallVector<Value> qkv = projectAll(layer, y, y, self);
                         y = layer.attention(qkv, own[1], options, scale);
                         Value x = layer.add(own[0], projectOut(layer, y, self), "residual");
                         return feedForward(layer, x, "layer.1");
                       });
  }

  Layer makeDecoderLayer(DecoderEntry &entry, Type bias, bool hasMemory) {
    SmallVector<ModelBuilder::Argument> arguments = layerArguments(model, config.width, hasMemory);
    arguments.insert(arguments.begin() + 2, {"position_bias", bias}); // behind x and sequences
    auto write = [&](Body &layer, ValueRange own, LayerCache &cache) {
      AttentionOptions options = {config.heads, /*causal=*/true};
      options.positionBias = own[2];
      Value y = normalize(layer, own[0], "layer.0");
      y = cache.attend(layer, projectAll(layer, y, y, self), own[1], options, scale);
      Value x = layer.add(own[0], projectOut(layer, y, self), "residual");
      y = normalize(layer, x, "layer.1");
      if (cache)
        y = cache.attendSource(layer, projectQuery(layer, y, cross), own[1], {config.heads}, scale);
      else
        y = layer.attention(projectAll(layer, y, own[3], cross), own[1],
                            {config.heads, /*causal=*/false, own[3], own[4]}, scale);
      x = layer.add(x, projectOut(layer, y, cross), "residual");
      return feedForward(layer, x, "layer.2");
    };
    return entry.layer("decoder_layer", arguments, body().init, write);
  }

  Value normalize(Body &layer, Value x, const std::string &sublayer) {
    return layer.rmsNorm(x, sublayer + ".layer_norm", config.norm);
  }

  SmallVector<Value> projectAll(Body &layer, Value x, Value source, const std::string &block) {
    return {projectQuery(layer, x, block), project(layer, source, block + "k"),
            project(layer, source, block + "v")};
  }
  Value projectQuery(Body &layer, Value x, const std::string &block) {
    return linear(layer, x, block + "q", inner(), config.width * config.headDim);
  }
  Value project(Body &layer, Value x, const std::string &name) {
    return linear(layer, x, name, inner(), config.width);
  }
  Value projectOut(Body &layer, Value x, const std::string &block) {
    return layer.drop(linear(layer, x, block + "o", config.width, inner()));
  }

  Value feedForward(Body &layer, Value x, const std::string &sublayer) {
    std::string block = sublayer + ".DenseReluDense.";
    Value y = normalize(layer, x, sublayer);
    layer.init = deviation(config.width);
    InitScheme down = deviation(config.ffnWidth);
    if (config.gated)
      y = layer.gatedFeedForward(config.activation, y, block + "wi_0", block + "wi_1", block + "wo",
                                 config.ffnWidth, /*hasBias=*/false, down);
    else
      y = layer.feedForward(config.activation, y, block + "wi", block + "wo", config.ffnWidth,
                            WeightLayout::OutIn, down, /*hasBias=*/false);
    return layer.add(x, layer.drop(y), "residual");
  }

  Value linear(Body &layer, Value x, const std::string &name, int64_t width, int64_t fan) {
    layer.init = deviation(fan);
    return layer.linear(x, name, width, /*hasBias=*/false);
  }

  InitScheme deviation(int64_t fan) const { return {config.factor / std::sqrt(double(fan))}; }
  InitAttr normal(int64_t fan) const { return deviation(fan).linearWeight(model.getContext()); }

  void buildOutput(Value hidden, Value sequences, Value table, EntryPoint point) {
    SmallVector<StringRef> dims = {"batch", "decoder_sequence"};
    if (import.head == "Model")
      return model.output("last_hidden_state",
                          body().unpack(hidden, sequences, "last_hidden_state"), dims);
    if (config.ownHead)
      table = body().weight("lm_head.weight", cast<RankedTensorType>(table.getType()).getShape(),
                            body().init.embedding(model.getContext()));
    auto logits = [&](Value rows) {
      return body().linear(rows, table, Value(), WeightLayout::OutIn, "logits");
    };
    if (point == EntryPoint::Step)
      return model.output("logits", logits(body().lastToken(hidden, sequences)), {"batch"});
    model.output("logits", body().unpack(logits(hidden), sequences, "logits"), dims);
  }

  static constexpr double scale = 1; // of scores
  const std::string self = "layer.0.SelfAttention.", cross = "layer.1.EncDecAttention.";

  Import &import;
  const T5Config &config;
  ModelBuilder &model;
  Layer encoderLayer; // of `forward` and `encode`
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
  result.dropout = config.rate({"dropout_rate"}, 0.1);
  result.factor = result.norm.start = config.number({"initializer_factor"}, 1.0);
  std::string projection = config.text({"feed_forward_proj"}, "relu");
  StringRef name = projection;
  // transformers writes what follows from it, too, and reads that first.
  result.gated = config.flag({"is_gated_act"}, name.consume_front("gated-"));
  result.activation = config.has({"dense_act_fn"}) ? config.activation({"dense_act_fn"}, "relu")
                      : projection == "gated-gelu"
                          ? ActivationKind::GeluTanh // version 1.1's
                          : config.activationNamed("feed_forward_proj", name);
  if (import.head == "EncoderModel")
    config.refuseFlag("is_decoder");
  // transformers 4 took an untied head for version 1.1; 5 keeps both facts.
  bool tied = config.flag({"tie_word_embeddings"}, true);
  result.scaledOutput = config.flag({"scale_decoder_outputs"}, tied);
  result.ownHead = (!tied || !result.scaledOutput) && !import.checkpoint.lacks("lm_head.weight");
  return result;
}

void transformer::buildT5(Import &import) {
  T5Config config = readConfig(import);
  if (!import.config.ok())
    return;
  T5Builder builder(import, config);
  if (builder.encoderOnly())
    return builder.build(EntryPoint::Forward);
  buildEncoderDecoderEntries(import, [&](EntryPoint point) { builder.build(point); });
}
