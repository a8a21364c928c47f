//===- BartLike.cpp - what BART and the families after it share -----------===//
#include "models/BartLike.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;

BartConfig BartConfig::read(Config &config, const Defaults &defaults) {
  BartConfig result;
  result.vocabSize = config.size({"vocab_size"}, defaults.vocabSize, Config::maxVocabulary);
  result.width = config.size({"d_model", "hidden_size"}, defaults.width);
  result.positions =
      config.size({"max_position_embeddings"}, defaults.positions, Config::maxPositions);
  auto readStack = [&](const std::string &side, const Stack &given) {
    Stack stack;
    stack.layers = config.size({side + "_layers"}, given.layers, Config::maxLayers);
    stack.heads = config.size({side + "_attention_heads"}, given.heads);
    stack.ffnWidth = config.size({side + "_ffn_dim"}, given.ffnWidth, 4 * Config::maxWidth);
    config.checkHeads("d_model", result.width, side + "_attention_heads", stack.heads);
    return stack;
  };
  result.encoder = readStack("encoder", defaults.encoder);
  result.decoder = readStack("decoder", defaults.decoder);
  result.activation = config.activation({"activation_function"}, "gelu");
  result.deviation = config.number({"init_std"}, 0.02);
  result.padding = config.padding(result.vocabSize, defaults.padding);
  result.dropout = {config.rate({"dropout"}, 0.1), config.rate({"attention_dropout"}, 0),
                    config.rate({"activation_dropout"}, 0)};
  bool scaled = config.flag({"scale_embedding"}, false);
  result.embeddingScale = scaled ? std::sqrt(double(result.width)) : 1.0;
  if (!config.flag({"tie_word_embeddings"}, true))
    config.fail("tie_word_embeddings", "true (others are not supported)", "false");
  return result;
}

namespace {

/// Builds one model, an entry point at a time.
class BartBuilder {
public:
  BartBuilder(Import &import, const BartConfig &config)
      : import(import), config(config), model(import.model),
        base(import.head == "Model" ? "" : "model."), init{config.deviation} {
    model.aliases = {"model.", !base.empty(), {}};
  }

  void build(EntryPoint point) {
    body().init = init;
    model.dropout = config.dropout;
    auto [table, targetTable] = readTables();
    DefaultAttr ones = model.missing(DefaultKind::Ones);
    Side source, target;
    if (point != EntryPoint::Step)
      source = buildSide(model, {config.vocabSize, config.positions, ones}, false);
    if (point != EntryPoint::Encode)
      target = buildSide(model, {rowsOf(targetTable), config.positions, ones}, true);
    DecoderEntry entry(import, /*step=*/point != EntryPoint::Forward, config.decoder.layers,
                       config.width, /*hasSource=*/point == EntryPoint::Step);
    Value memory;
    if (point != EntryPoint::Step)
      memory = buildEncoder(source, table);
    if (point == EntryPoint::Encode)
      return encodeSource(entry, base + "decoder.layers", memory, source.sequences,
                          projections("encoder_attn"), config.decoder.heads, init);
    Value hidden = buildDecoder(entry, target, targetTable, memory, source.sequences);
    entry.outputCaches();
    buildOutput(hidden, target.sequences, targetTable, point);
  }

private:
  Body &body() { return model.entry(); }

  static int64_t rowsOf(Value table) {
    return cast<RankedTensorType>(table.getType()).getDimSize(0);
  }

  /// The embeddings of the encoder and of the decoder, which may be one.
  std::pair<Value, Value> readTables() {
    std::string encoderTable = base + "encoder.embed_tokens.weight",
                decoderTable = base + "decoder.embed_tokens.weight", words = base + "shared.weight";
    if (config.targetVocab)
      return {declare(encoderTable, config.vocabSize, {}),
              declare(decoderTable, config.targetVocab, {"lm_head.weight"})};
    Value table = declare(words, config.vocabSize, {encoderTable, decoderTable, "lm_head.weight"});
    return {table, table};
  }

  Value declare(const std::string &name, int64_t rows, ArrayRef<std::string> otherNames) {
    InitAttr embedding = init.embedding(model.getContext(), config.padding);
    auto type = RankedTensorType::get({rows, config.width}, body().builder.getF32Type());
    if (!otherNames.empty())
      model.declare(name, type, embedding, otherNames);
    return body().weight(name, type.getShape(), embedding);
  }

  Value embedPositions(StringRef side, Value positions) {
    // A table of sinusoids that a file holds counts.
    std::string name = (side + ".embed_positions.weight").str();
    if (config.sinusoids && !import.checkpoint.holds(name))
      return body().sinusoids(positions, config.width, config.positions, SinusoidLayout::Halves);
    SmallVector<int64_t> shape = {config.positions + config.offset, config.width};
    InitAttr embedding = config.sinusoids ? makeInit(model.getContext(), InitKind::Sinusoids,
                                                     double(config.width) / 2)
                                          : init.embedding(model.getContext());
    if (config.sinusoids)
      model.declareFrozen(base + name, shape, embedding);
    Value table = body().weight(base + name, shape, embedding);
    if (config.offset)
      table = body().slice(table, config.offset, config.positions, "positions");
    return body().embedding(positions, table, "embed_positions");
  }

  Value normalize(Value x, const std::string &side, StringRef name) {
    return body().layerNorm(x, base + side + "." + name.str(), config.norm);
  }

  Value embed(const std::string &side, const Side &input, Value table) {
    Value words =
        body().embedding(input.ids, table, "embed_tokens", config.embeddingScale, config.padding);
    bool ofWords = side == "decoder" && config.normsWords;
    if (ofWords)
      words = normalize(words, side, "layernorm_embedding");
    Value x = body().add(words, embedPositions(side, input.positions), "embeddings");
    if (config.embeddingNorm && !ofWords)
      x = normalize(x, side, "layernorm_embedding");
    return body().drop(x);
  }

  Value finish(Value x, const std::string &side) {
    return config.normFirst ? normalize(x, side, "layer_norm") : x;
  }

  Value buildEncoder(const Side &input, Value table) {
    Value x = embed("encoder", input, table);
    if (!encoderLayer.function)
      encoderLayer = makeEncoderLayer();
    for (int64_t i = 0; i < config.encoder.layers; ++i)
      x = model.call(encoderLayer, base + "encoder.layers." + std::to_string(i),
                     {x, input.sequences}, "memory");
    return finish(x, "encoder");
  }

  /// `memory` is null where the cache has the source.
  Value buildDecoder(DecoderEntry &entry, const Side &input, Value table, Value memory,
                     Value memorySequences) {
    Value x = embed("decoder", input, table);
    Layer layer = makeDecoderLayer(entry, bool(memory));
    SmallVector<Value> others = {input.sequences};
    if (memory)
      others.append({memory, memorySequences});
    x = entry.callInTurn(layer, config.decoder.layers, base + "decoder.layers", x, others);
    return finish(x, "decoder");
  }

  Layer makeEncoderLayer() {
    return model.layer("encoder_layer",
                       {{"x", body().rows(config.width)}, {"sequences", model.sequencesType()}},
                       init, [&](Body &layer, ValueRange own) {
                         Value x = sublayer(layer, own[0], "self_attn_layer_norm", [&](Value y) {
                           return layer.multiHeadAttention(y, own[1], projections("self_attn"),
                                                           {config.encoder.heads});
                         });
                         return feedForward(layer, x, config.encoder);
                       });
  }

  Layer makeDecoderLayer(DecoderEntry &entry, bool hasMemory) {
    auto write = [&](Body &layer, ValueRange own, LayerCache &cache) {
      int64_t heads = config.decoder.heads;
      Value x = sublayer(layer, own[0], "self_attn_layer_norm", [&](Value y) {
        return attendSelf(layer, y, own[1], projections("self_attn"), {heads, /*causal=*/true},
                          cache);
      });
      x = sublayer(layer, x, "encoder_attn_layer_norm", [&](Value y) {
        return attendSource(layer, y, own, projections("encoder_attn"), heads, cache);
      });
      return feedForward(layer, x, config.decoder);
    };
    return entry.layer("decoder_layer", layerArguments(model, config.width, hasMemory), init,
                       write);
  }

  Value sublayer(Body &layer, Value x, StringRef norm, llvm::function_ref<Value(Value)> write) {
    if (config.normFirst)
      return layer.add(x, layer.drop(write(layer.layerNorm(x, norm, config.norm))), "residual");
    return layer.layerNorm(layer.add(x, layer.drop(write(x)), "residual"), norm, config.norm);
  }

  static Projections projections(const std::string &block) {
    return {block + ".q_proj", block + ".k_proj", block + ".v_proj", block + ".out_proj"};
  }

  Value feedForward(Body &layer, Value x, const BartConfig::Stack &stack) {
    return sublayer(layer, x, "final_layer_norm", [&](Value y) {
      return layer.feedForward(config.activation, y, "fc1", "fc2", stack.ffnWidth);
    });
  }

  void buildOutput(Value hidden, Value sequences, Value table, EntryPoint point) {
    SmallVector<StringRef> dims = {"batch", "decoder_sequence"};
    if (import.head == "Model")
      return model.output("last_hidden_state",
                          body().unpack(hidden, sequences, "last_hidden_state"), dims);
    if (point == EntryPoint::Step)
      return model.output("logits", logits(body().lastToken(hidden, sequences), table), {"batch"});
    model.output("logits", body().unpack(logits(hidden, table), sequences, "logits"), dims);
  }

  Value logits(Value hidden, Value table) {
    Value bias;
    if (!import.checkpoint.lacks("final_logits_bias")) { // older files do not hold it
      SmallVector<int64_t> shape = {1, rowsOf(table)};
      InitAttr zeros = makeInit(model.getContext(), InitKind::Zeros);
      model.declareFrozen("final_logits_bias", shape, zeros);
      Value row = body().weight("final_logits_bias", shape, zeros);
      SmallVector<ReassociationIndices> all = {{0, 1}};
      bias = tensor::CollapseShapeOp::create(body().builder, body().named("final_logits_bias"), row,
                                             all);
    }
    return body().linear(hidden, table, bias, WeightLayout::OutIn, "logits");
  }

  Import &import;
  const BartConfig &config;
  ModelBuilder &model;
  std::string base;
  InitScheme init;
  Layer encoderLayer; // of `forward` and `encode`
};

} // namespace

void transformer::buildBartLike(Import &import, const BartConfig &config) {
  if (!import.config.ok())
    return;
  BartBuilder builder(import, config);
  buildEncoderDecoderEntries(import, [&](EntryPoint point) { builder.build(point); });
}
