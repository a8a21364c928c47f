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
  bool scaled = config.flag({"scale_embedding"}, false);
  result.embeddingScale = scaled ? std::sqrt(double(result.width)) : 1.0;
  if (!config.flag({"tie_word_embeddings"}, true))
    config.fail("tie_word_embeddings", "true (others are not supported)", "false");
  return result;
}

namespace {

/// Builds one model.
class BartBuilder {
public:
  BartBuilder(Import &import, const BartConfig &config)
      : import(import), config(config), model(import.model), body(model.entry()),
        base(import.head == "Model" ? "" : "model.") {}

  void build() {
    model.aliases = {"model.", !base.empty(), {}};
    body.init = {config.deviation};
    DefaultAttr ones = model.missing(DefaultKind::Ones);
    bool shared = !config.targetVocab;
    int64_t targetVocab = shared ? config.vocabSize : config.targetVocab;
    Side source = buildSide(model, {config.vocabSize, config.positions, ones}, false);
    Side target = buildSide(model, {targetVocab, config.positions, ones}, true);
    std::string encoderTable = base + "encoder.embed_tokens.weight",
                decoderTable = base + "decoder.embed_tokens.weight", words = base + "shared.weight";
    Value table, targetTable;
    if (shared) {
      table = targetTable =
          declare(words, config.vocabSize, {encoderTable, decoderTable, "lm_head.weight"});
    } else {
      table = declare(encoderTable, config.vocabSize, {});
      targetTable = declare(decoderTable, targetVocab, {"lm_head.weight"});
    }
    Value memory = buildStack("encoder", config.encoder, source, table, {}, {});
    Value hidden =
        buildStack("decoder", config.decoder, target, targetTable, memory, source.sequences);
    buildOutput(hidden, target.sequences, targetTable);
  }

private:
  Value declare(const std::string &name, int64_t rows, ArrayRef<std::string> otherNames) {
    InitAttr init = body.init.embedding(model.getContext());
    auto type = RankedTensorType::get({rows, config.width}, body.builder.getF32Type());
    if (!otherNames.empty())
      model.declare(name, type, init, otherNames);
    return body.weight(name, type.getShape(), init);
  }

  Value embedPositions(StringRef side, Value positions) {
    // A table of sinusoids that a file holds counts.
    std::string name = (side + ".embed_positions.weight").str();
    if (config.sinusoids && !import.checkpoint.holds(name))
      return body.sinusoids(positions, config.width, config.positions, SinusoidLayout::Halves);
    Value table = body.weight(base + name, {config.positions + config.offset, config.width},
                              body.init.embedding(model.getContext()));
    if (config.offset)
      table = body.slice(table, config.offset, config.positions, "positions");
    return body.embedding(positions, table, "embed_positions");
  }

  /// `memory` is null for the encoder.
  Value buildStack(const std::string &side, const BartConfig::Stack &stack, const Side &input,
                   Value table, Value memory, Value memorySequences) {
    auto normalize = [&](Value x, StringRef name) {
      return body.layerNorm(x, base + side + "." + name.str(), config.norm);
    };
    Value words = body.embedding(input.ids, table, "embed_tokens", config.embeddingScale);
    bool ofWords = memory && config.normsWords;
    if (ofWords)
      words = normalize(words, "layernorm_embedding");
    Value x = body.add(words, embedPositions(side, input.positions), "embeddings");
    if (config.embeddingNorm && !ofWords)
      x = normalize(x, "layernorm_embedding");
    Layer layer = makeLayer(side + "_layer", stack, bool(memory));
    for (int64_t i = 0; i < stack.layers; ++i) {
      SmallVector<Value> arguments = {x, input.sequences};
      if (memory)
        arguments.append({memory, memorySequences});
      x = model.call(layer, base + side + ".layers." + std::to_string(i), arguments,
                     memory ? "hidden" : "memory");
    }
    return config.normFirst ? normalize(x, "layer_norm") : x;
  }

  Layer makeLayer(const std::string &name, const BartConfig::Stack &stack, bool decoder) {
    Type rows = body.rows(config.width), sequences = model.sequencesType();
    SmallVector<ModelBuilder::Argument> arguments = {{"x", rows}, {"sequences", sequences}};
    if (decoder)
      arguments.append({{"memory", rows}, {"memory_sequences", sequences}});
    return model.layer(name, arguments, body.init, [&](Body &layer, ValueRange own) {
      auto sublayer = [&](Value x, StringRef norm, llvm::function_ref<Value(Value)> write) {
        if (config.normFirst)
          return layer.add(x, write(layer.layerNorm(x, norm, config.norm)), "residual");
        return layer.layerNorm(layer.add(x, write(x), "residual"), norm, config.norm);
      };
      auto attend = [&](Value x, const std::string &block, const AttentionOptions &options) {
        return layer.multiHeadAttention(
            x, own[1],
            {block + ".q_proj", block + ".k_proj", block + ".v_proj", block + ".out_proj"},
            options);
      };
      Value x = sublayer(own[0], "self_attn_layer_norm", [&](Value y) {
        return attend(y, "self_attn", {stack.heads, /*causal=*/decoder});
      });
      if (decoder)
        x = sublayer(x, "encoder_attn_layer_norm", [&](Value y) {
          return attend(y, "encoder_attn", {stack.heads, /*causal=*/false, own[2], own[3]});
        });
      return sublayer(x, "final_layer_norm", [&](Value y) {
        return layer.feedForward(config.activation, y, "fc1", "fc2", stack.ffnWidth);
      });
    });
  }

  void buildOutput(Value hidden, Value sequences, Value table) {
    SmallVector<StringRef> dims = {"batch", "decoder_sequence"};
    if (import.head == "Model")
      return model.output("last_hidden_state", body.unpack(hidden, sequences, "last_hidden_state"),
                          dims);
    Value bias;
    if (!import.checkpoint.lacks("final_logits_bias")) { // a buffer; older files do not hold it
      int64_t rows = cast<RankedTensorType>(table.getType()).getDimSize(0);
      Value row = body.weight("final_logits_bias", {1, rows},
                              makeInit(model.getContext(), InitKind::Zeros));
      SmallVector<ReassociationIndices> all = {{0, 1}};
      bias =
          tensor::CollapseShapeOp::create(body.builder, body.named("final_logits_bias"), row, all);
    }
    Value logits = body.linear(hidden, table, bias, WeightLayout::OutIn, "logits");
    model.output("logits", body.unpack(logits, sequences, "logits"), dims);
  }

  Import &import;
  const BartConfig &config;
  ModelBuilder &model;
  Body &body;
  std::string base;
};

} // namespace

void transformer::buildBartLike(Import &import, const BartConfig &config) {
  if (import.config.ok())
    BartBuilder(import, config).build();
}
