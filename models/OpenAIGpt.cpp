//===- OpenAIGpt.cpp - GPT (Radford et al. 2018) --------------------------===//
#include "models/GptLike.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::transformer;

/// This family's own table of activations, in which "gelu" is the tanh form.
static ActivationKind readActivation(Config &config) {
  std::string name = config.text({"afn"}, "gelu");
  auto kind = llvm::StringSwitch<std::optional<ActivationKind>>(name)
                  .Case("gelu", ActivationKind::GeluTanh)
                  .Case("relu", ActivationKind::Relu)
                  .Cases({"silu", "swish"}, ActivationKind::Silu)
                  .Default(std::nullopt);
  if (!kind)
    config.failText("afn", "one of gelu, relu, silu, swish", name);
  return kind.value_or(ActivationKind::GeluTanh);
}

/// One layer, post-norm.
static Layer makeLayer(DecoderEntry &entry, Type rows, Type sequences, const GptConfig &config,
                       ActivationKind activation) {
  // Conv1D starts with 0.02, whatever initializer_range says.
  InitScheme init = {0.02};
  return entry.layer(
      "decoder_layer", {{"x", rows}, {"sequences", sequences}}, init,
      [&](Body &body, ValueRange arguments, LayerCache &cache) {
        Value x = arguments[0];
        Value attention =
            buildGptAttention(body, x, arguments[1], config, {config.scale()}, init, cache);
        Value attended = body.layerNorm(body.add(attention, x, "residual"), "ln_1", config.norm);
        Value ffn = body.feedForward(activation, attended, "mlp.c_fc", "mlp.c_proj",
                                     4 * config.width, WeightLayout::InOut);
        return body.layerNorm(body.add(body.drop(ffn), attended, "residual"), "ln_2", config.norm);
      });
}

static void buildEntry(Import &import, const GptConfig &config, ActivationKind activation,
                       bool step) {
  std::string base = import.head == "Model" ? "" : "transformer.";
  DecoderOutput output{config.vocabSize, base + "tokens_embed", config.tied};
  auto [hidden, sequences, entry] =
      buildGptInputs(import, config, output, base + "positions_embed", step);
  Layer layer =
      makeLayer(entry, hidden.getType(), import.model.sequencesType(), config, activation);
  hidden = entry.callInTurn(layer, config.layers, base + "h", hidden, {sequences});
  entry.output(output, hidden, sequences);
}

void transformer::buildOpenAIGpt(Import &import) {
  GptConfig config = GptConfig::read(import.config, /*vocabSize=*/40478, /*positions=*/512);
  ActivationKind activation = readActivation(import.config);
  if (!import.config.ok())
    return;
  import.model.aliases = {"transformer.", import.head != "Model", {}};
  buildDecoderEntries(import, [&](bool step) { buildEntry(import, config, activation, step); });
}
