//===- Gpt2.cpp - GPT-2 (Radford et al. 2019) -----------------------------===//
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "models/GptLike.h"
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;

namespace {
struct Gpt2Config {
  GptConfig gpt;
  int64_t ffnWidth;
  ActivationKind activation;
  bool scaled, inverseLayer;
};
} // namespace

static Gpt2Config readConfig(Config &config) {
  Gpt2Config result;
  result.gpt = GptConfig::read(config, /*vocabSize=*/50257, /*positions=*/1024);
  result.ffnWidth = config.size({"n_inner"}, 4 * result.gpt.width, 4 * Config::maxWidth);
  result.activation = config.activation({"activation_function"}, "gelu_new");
  result.scaled = config.flag({"scale_attn_weights"}, true);
  result.inverseLayer = config.flag({"scale_attn_by_inverse_layer_idx"}, false);
  config.flag({"reorder_and_upcast_attn"}, false); // a matter of precision only
  config.refuseFlag("add_cross_attention");
  return result;
}

/// One layer, pre-norm. With scale_attn_by_inverse_layer_idx the scores' factor
/// 1 / (layer + 1) is an argument, so that all layers share the function.
static Layer makeLayer(DecoderEntry &entry, Type rows, Type sequences, const Gpt2Config &config) {
  const GptConfig &gpt = config.gpt;
  // Projections into the residual stream start smaller, by 1 / sqrt(2 n_layer).
  InitScheme residual = {gpt.deviation / std::sqrt(2.0 * gpt.layers)};
  SmallVector<ModelBuilder::Argument> arguments = {{"x", rows}, {"sequences", sequences}};
  if (config.inverseLayer)
    arguments.push_back({"scale_factor", Float32Type::get(rows.getContext())});
  auto write = [&](Body &body, ValueRange own, LayerCache &cache) {
    Value x = own[0];
    GptScale scale = {config.scaled ? gpt.scale() : 1.0, config.inverseLayer ? own[2] : Value()};
    Value attention = buildGptAttention(body, body.layerNorm(x, "ln_1", gpt.norm), own[1], gpt,
                                        scale, residual, cache);
    Value attended = body.add(attention, x, "residual");
    Value ffn =
        body.feedForward(config.activation, body.layerNorm(attended, "ln_2", gpt.norm), "mlp.c_fc",
                         "mlp.c_proj", config.ffnWidth, WeightLayout::InOut, residual);
    return body.add(body.drop(ffn), attended, "residual");
  };
  return entry.layer("decoder_layer", arguments, {gpt.deviation}, write);
}

static void buildEntry(Import &import, const Gpt2Config &config, bool step) {
  ModelBuilder &model = import.model;
  std::string base = import.head == "Model" ? "" : "transformer.";
  DecoderOutput output{config.gpt.vocabSize, base + "wte", config.gpt.tied};
  auto [hidden, sequences, entry] = buildGptInputs(import, config.gpt, output, base + "wpe", step);

  Body &body = model.entry();
  Layer layer = makeLayer(entry, hidden.getType(), model.sequencesType(), config);
  for (int64_t i = 0; i < config.gpt.layers; ++i) {
    SmallVector<Value> arguments = {hidden, sequences};
    if (config.inverseLayer)
      arguments.push_back(
          arith::ConstantOp::create(body.builder, body.named("scale_factor"),
                                    body.builder.getF32FloatAttr(float(1.0 / double(i + 1)))));
    hidden = entry.call(layer, i, base + "h." + std::to_string(i), arguments);
  }
  hidden = body.layerNorm(hidden, base + "ln_f", config.gpt.norm);
  entry.output(output, hidden, sequences);
}

void transformer::buildGpt2(Import &import) {
  Gpt2Config config = readConfig(import.config);
  if (!import.config.ok())
    return;
  import.model.aliases = {"transformer.", import.head != "Model", {}};
  buildDecoderEntries(import, [&](bool step) { buildEntry(import, config, step); });
}
