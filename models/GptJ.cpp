//===- GptJ.cpp - GPT-J (Wang and Komatsuzaki 2021) -----------------------===//
#include "models/DecoderEntry.h"
#include "models/GptLike.h"
#include "models/Rope.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {
struct GptJConfig {
  GptConfig gpt;
  int64_t ffnWidth;
  ActivationKind activation;
  Rope rope;
};
} // namespace

static GptJConfig readConfig(Config &config) {
  GptJConfig result;
  result.gpt = GptConfig::read(config, /*vocabSize=*/50400, /*positions=*/2048, /*tied=*/false,
                               /*dropout=*/0);
  result.ffnWidth = config.size({"n_inner"}, 4 * result.gpt.width, 4 * Config::maxWidth);
  result.activation = config.activation({"activation_function"}, "gelu_new");
  result.rope.width = config.size({"rotary_dim"}, 64);
  result.rope.theta = 10000;
  if (config.isNull("rotary_dim"))
    config.fail("rotary_dim", "how many columns of a head are rotated", "null");
  if (result.rope.width % 2 || result.rope.width > result.gpt.width / result.gpt.heads)
    config.fail("rotary_dim",
                "an even number of at most the head's " +
                    Twine(result.gpt.width / result.gpt.heads) + " columns",
                Twine(result.rope.width));
  return result;
}

/// One norm before both sublayers, which read the same. Neighbouring columns are
/// rotated: queries and keys get theirs in another order, which scores do not see.
static Layer makeLayer(DecoderEntry &entry, Body &outside, Type sequences,
                       const GptJConfig &config) {
  const GptConfig &gpt = config.gpt;
  return entry.layer(
      "decoder_layer",
      {{"x", outside.rows(gpt.width)},
       {"sequences", sequences},
       {"rotary_table", outside.rows(config.rope.width)}},
      {gpt.deviation}, [&](Body &body, ValueRange own, LayerCache &cache) {
        Value x = body.layerNorm(own[0], "ln_1", gpt.norm);
        auto project = [&](StringRef name, bool rotates) {
          Value matrix = body.linearWeights(name, gpt.width, gpt.width, WeightLayout::OutIn,
                                            body.init, /*hasBias=*/false)
                             .first;
          if (rotates)
            matrix = body.halvesOfPairs(matrix, gpt.heads, config.rope.width, name);
          Value y = body.linear(x, matrix, Value(), WeightLayout::OutIn, name);
          return rotates ? body.rotate(y, own[2], gpt.heads, name) : y;
        };
        SmallVector<Value> qkv = {project("attn.q_proj", true), project("attn.k_proj", true),
                                  project("attn.v_proj", false)};
        Value attention =
            cache.attend(body, qkv, own[1], {gpt.heads, /*causal=*/true}, gpt.scale());
        attention = body.linear(attention, "attn.out_proj", gpt.width, /*hasBias=*/false);
        Value ffn =
            body.feedForward(config.activation, x, "mlp.fc_in", "mlp.fc_out", config.ffnWidth);
        return body.add(body.add(own[0], body.drop(attention), "residual"), body.drop(ffn),
                        "residual");
      });
}

static void buildEntry(Import &import, const GptJConfig &config, bool step) {
  const GptConfig &gpt = config.gpt;
  ModelBuilder &model = import.model;
  std::string base = import.head == "Model" ? "" : "transformer.";
  Value ids = model.input({"input_ids", {}, gpt.vocabSize, gpt.positions});
  Value mask = model.input({"attention_mask", model.missing(DefaultKind::Ones)});
  Value places = model.input({"position_ids", model.missing(DefaultKind::Columns), gpt.positions});
  DecoderEntry entry(import, step, gpt.layers, gpt.width);
  SmallVector<Value> packed = model.pack({ids, places}, mask);

  Body &body = model.entry();
  body.init = {gpt.deviation};
  model.dropout = gpt.dropout;
  DecoderOutput output{gpt.vocabSize, base + "wte", gpt.tied};
  output.hasBias = true;
  output.declareTied(import, gpt.width);
  Value hidden = body.embedding(packed[0], base + "wte", gpt.vocabSize, gpt.width);
  hidden = body.drop(hidden, body.dropout.embedding);
  Value table = config.rope.table(body, packed[1]);
  Layer layer = makeLayer(entry, body, model.sequencesType(), config);
  hidden = entry.callInTurn(layer, gpt.layers, base + "h", hidden, {packed[2], table});
  hidden = body.layerNorm(hidden, base + "ln_f", gpt.norm);
  entry.output(output, hidden, packed[2]);
}

void transformer::buildGptJ(Import &import) {
  GptJConfig config = readConfig(import.config);
  if (!import.config.ok())
    return;
  import.model.aliases = {"transformer.", import.head != "Model", {}};
  buildDecoderEntries(import, [&](bool step) { buildEntry(import, config, step); });
}
