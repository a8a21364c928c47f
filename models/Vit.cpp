//===- Vit.cpp - ViT (Dosovitskiy et al. 2021) ----------------------------===//
//
// Images of one size, of any number of channels. A row of patches is a token
// beside the class token; the convolution is a linear layer of patches.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "models/BertLike.h"
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;

namespace {

struct VitConfig {
  int64_t channels, width, layers, heads, ffnWidth, poolerWidth;
  std::pair<int64_t, int64_t> image, patch; // height, width
  ActivationKind activation, poolerActivation;
  Norm norm;
  InitScheme init;
  bool qkvBias;
  DropoutRates dropout;

  static VitConfig read(Config &config);
  int64_t patches() const { return (image.first / patch.first) * (image.second / patch.second); }
};

} // namespace

VitConfig VitConfig::read(Config &config) {
  VitConfig result;
  result.channels = config.size({"num_channels"}, 3);
  result.width = config.size({"hidden_size"}, 768);
  result.layers = config.size({"num_hidden_layers"}, 12, Config::maxLayers);
  result.heads = config.size({"num_attention_heads"}, 12);
  result.ffnWidth = config.size({"intermediate_size"}, 3072);
  result.poolerWidth = config.size({"pooler_output_size"}, result.width);
  result.image = config.sizePair("image_size", 224);
  result.patch = config.sizePair("patch_size", 16);
  result.activation = config.activation({"hidden_act"}, "gelu");
  result.poolerActivation = config.activation({"pooler_act"}, "tanh");
  result.norm = {config.number({"layer_norm_eps"}, 1e-12)};
  result.init = {config.number({"initializer_range"}, 0.02)};
  result.dropout = {config.rate({"hidden_dropout_prob"}, 0),
                    config.rate({"attention_probs_dropout_prob"}, 0)};
  result.qkvBias = config.flag({"qkv_bias"}, true);
  config.checkHeads("hidden_size", result.width, "num_attention_heads", result.heads);
  auto text = [](std::pair<int64_t, int64_t> sizes) {
    return (Twine(sizes.first) + "x" + Twine(sizes.second)).str();
  };
  if (result.patch.first > result.image.first || result.patch.second > result.image.second)
    config.fail("patch_size", "at most image_size = " + text(result.image), text(result.patch));
  return result;
}

/// One encoder layer, pre-norm.
static Layer makeLayer(ModelBuilder &model, const VitConfig &config) {
  Type rows = model.entry().rows(config.width);
  return model.layer(
      "encoder_layer", {{"x", rows}, {"sequences", model.sequencesType()}}, config.init,
      [&](Body &body, ValueRange own) {
        Value y = body.layerNorm(own[0], "layernorm_before", config.norm);
        SmallVector<Value> qkv;
        for (StringRef part : {"query", "key", "value"})
          qkv.push_back(
              body.linear(y, ("attention.attention." + part).str(), config.width, config.qkvBias));
        double scale = 1 / std::sqrt(double(config.width / config.heads));
        Value attention = body.linear(body.attention(qkv, own[1], {config.heads}, scale),
                                      "attention.output.dense", config.width);
        Value x = body.add(body.drop(attention), own[0], "residual");
        Value ffn =
            body.feedForward(config.activation, body.layerNorm(x, "layernorm_after", config.norm),
                             "intermediate.dense", "output.dense", config.ffnWidth);
        return body.add(body.drop(ffn), x, "residual");
      });
}

/// What is added to the class token's row and to each patch's: the place, and
/// the class token or the projection's bias.
static Value makeTable(Body &body, const VitConfig &config, const std::string &base) {
  MLIRContext *context = body.builder.getContext();
  int64_t tokens = config.patches() + 1;
  InitAttr zeros = makeInit(context, InitKind::Zeros);
  // Not truncated_normal: transformers cuts at 2, which is a hundred deviations.
  InitAttr normal = config.init.embedding(context);
  Value token = body.weight(base + "cls_token", {1, 1, config.width}, normal);
  Value bias = body.weight(base + "patch_embeddings.projection.bias", {config.width}, zeros);
  Value places = body.weight(base + "position_embeddings", {1, tokens, config.width}, normal);
  SmallVector<Value> kinds = {body.reshape(token, {1, config.width}, "cls"),
                              body.reshape(bias, {1, config.width}, "patch")};
  auto pair = RankedTensorType::get({2, config.width}, body.builder.getF32Type());
  Value both =
      tensor::ConcatOp::create(body.builder, body.named("kinds"), pair, uint64_t(0), kinds);
  SmallVector<int64_t> which(tokens, 1);
  which.front() = 0;
  auto type = RankedTensorType::get({tokens}, body.builder.getI64Type());
  Value ids = arith::ConstantOp::create(body.builder, body.named("which"),
                                        DenseElementsAttr::get(type, ArrayRef<int64_t>(which)));
  auto rows = RankedTensorType::get({tokens, config.width}, body.builder.getF32Type());
  Value kind = EmbeddingOp::create(body.builder, body.named("kind"), rows, ids, both,
                                   body.builder.getF64FloatAttr(1), IntegerAttr());
  return body.add(kind, body.reshape(places, {tokens, config.width}, "places"), "table");
}

static Value embedPatches(Body &body, const VitConfig &config, const std::string &base,
                          Value pixels, Value sequences) {
  auto [height, width] = config.patch;
  int64_t size = config.channels * height * width;
  Value patches = PatchesOp::create(body.builder, body.named("patches"), body.rows(size), pixels,
                                    sequences, ArrayRef<int64_t>{height, width}, 1);
  Value kernel = body.weight(base + "patch_embeddings.projection.weight",
                             {config.width, config.channels, height, width},
                             config.init.linearWeight(body.builder.getContext()));
  Value matrix = body.reshape(kernel, {config.width, size}, "projection");
  Value projected = body.linear(patches, matrix, Value(), WeightLayout::OutIn, "projected");
  auto type = RankedTensorType::get({ShapedType::kDynamic}, body.builder.getI64Type());
  Value columns = TokenColumnsOp::create(body.builder, body.named("columns"), type, sequences);
  return body.add(projected, body.embedding(columns, makeTable(body, config, base), "places"),
                  "embeddings");
}

void transformer::buildVit(Import &import) {
  VitConfig config = VitConfig::read(import.config);
  bool baseModel = import.head == "Model";
  int64_t labels = import.config.labels();
  if (!import.config.ok())
    return;

  ModelBuilder &model = import.model;
  model.aliases = {"vit.", !baseModel, {}};
  std::string base = baseModel ? "" : "vit.";
  int64_t tokens = config.patches() + 1;
  Input pixelInput{"pixel_values"}, maskInput{"attention_mask", model.missing(DefaultKind::Ones)};
  pixelInput.sizes = {config.channels, config.image.first, config.image.second};
  pixelInput.real = true;
  maskInput.sizes = {tokens};
  Value pixels = model.input(pixelInput);
  Value sequences = model.pack({}, model.input(maskInput)).front();

  Body &body = model.entry();
  body.init = config.init;
  model.dropout = config.dropout;
  Value hidden = body.drop(embedPatches(body, config, base + "embeddings.", pixels, sequences));
  Layer layer = makeLayer(model, config);
  for (int64_t i = 0; i < config.layers; ++i)
    hidden = model.call(layer, base + "encoder.layer." + std::to_string(i), {hidden, sequences});
  hidden = body.layerNorm(hidden, base + "layernorm", config.norm);
  if (!baseModel)
    return model.output(
        "logits", body.linear(body.firstToken(hidden, sequences), "classifier", labels), {"batch"});
  model.output("last_hidden_state",
               body.unpackFixed(hidden, sequences, "last_hidden_state", tokens), {"batch"});
  if (import.checkpoint.lacks("pooler.dense.weight"))
    return;
  Value pooled =
      body.linear(body.firstToken(hidden, sequences), "pooler.dense", config.poolerWidth);
  model.output("pooler_output", body.activation(config.poolerActivation, pooled), {"batch"});
}
