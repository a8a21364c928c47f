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
static Layer makeLayer(ModelBuilder &model, const Gpt2Config &config) {
  const GptConfig &gpt = config.gpt;
  // Projections into the residual stream start smaller, by 1 / sqrt(2 n_layer).
  InitScheme residual = {gpt.deviation / std::sqrt(2.0 * gpt.layers)};
  SmallVector<ModelBuilder::Argument> arguments = {{"x", model.entry().rows(gpt.width)},
                                                   {"sequences", model.sequencesType()}};
  if (config.inverseLayer)
    arguments.push_back({"scale_factor", Float32Type::get(model.getContext())});
  return model.layer("decoder_layer", arguments, {gpt.deviation}, [&](Body &body, ValueRange own) {
    Value x = own[0];
    Value attention = buildGptAttention(body, body.layerNorm(x, "ln_1", gpt.norm), own[1], gpt,
                                        config.scaled ? gpt.scale() : 1.0,
                                        config.inverseLayer ? own[2] : Value(), residual);
    Value attended = body.add(attention, x, "residual");
    Value ffn =
        body.feedForward(config.activation, body.layerNorm(attended, "ln_2", gpt.norm), "mlp.c_fc",
                         "mlp.c_proj", config.ffnWidth, WeightLayout::InOut, residual);
    return body.add(ffn, attended, "residual");
  });
}

void transformer::buildGpt2(Import &import) {
  Gpt2Config config = readConfig(import.config);
  if (!import.config.ok())
    return;
  ModelBuilder &model = import.model;
  bool baseModel = import.head == "Model";
  model.aliases = {"transformer.", !baseModel, {}};
  std::string base = baseModel ? "" : "transformer.";
  auto [hidden, sequences] =
      buildGptInputs(model, config.gpt, base + "wte", base + "wpe", !baseModel);

  Body &body = model.entry();
  Layer layer = makeLayer(model, config);
  for (int64_t i = 0; i < config.gpt.layers; ++i) {
    SmallVector<Value> arguments = {hidden, sequences};
    if (config.inverseLayer)
      arguments.push_back(
          arith::ConstantOp::create(body.builder, body.named("scale_factor"),
                                    body.builder.getF32FloatAttr(float(1.0 / double(i + 1)))));
    hidden = model.call(layer, base + "h." + std::to_string(i), arguments);
  }
  hidden = body.layerNorm(hidden, base + "ln_f", config.gpt.norm);
  buildGptOutput(import, config.gpt, base + "wte", hidden, sequences);
}
