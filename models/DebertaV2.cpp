//===- DebertaV2.cpp - DeBERTa, version 2 and 3 (He et al. 2021) ----------===//
//
// Disentangled attention: what a query's content has to do with the key's place
// (c2p) and a key's with the query's (p2c), places as distances, the far ones in
// buckets that become ever wider.
//
//===----------------------------------------------------------------------===//
#include "models/BertLike.h"
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;

namespace {

struct DebertaConfig : BertConfig {
  bool relative, sharedKeys, c2p, p2c, normalizedDistances, addsPositions, legacy;
  int64_t buckets, maxDistance; // buckets 0: every distance up to maxDistance its own
  int64_t convKernel;           // 0: none
  ActivationKind convActivation, poolerActivation;

  static DebertaConfig read(Config &config);
  /// Half of the rows of `rel_embeddings`.
  int64_t span() const { return buckets ? buckets : maxDistance; }
  /// The scale of scores that are sums of so many products.
  double scale() const { return 1 / std::sqrt(double(width / heads) * (1 + int(c2p) + int(p2c))); }
};

/// The bucket of a distance. In float32, as where the borders come from.
int64_t bucketOf(int64_t distance, int64_t buckets, int64_t maxDistance) {
  int64_t middle = buckets / 2, length = std::abs(distance);
  if (length <= middle)
    return distance;
  float range = std::log(static_cast<float>(double(maxDistance - 1) / double(middle)));
  float share = std::log(static_cast<float>(length) / static_cast<float>(middle)) / range;
  auto bucket = static_cast<int64_t>(std::ceil(share * static_cast<float>(middle - 1))) + middle;
  return distance < 0 ? -bucket : bucket;
}

/// The row of `rel_embeddings` for each distance of a key from its query, as far
/// as they differ.
std::vector<int32_t> columnsOf(const DebertaConfig &config) {
  int64_t span = config.span(), reach = config.maxDistance;
  std::vector<int32_t> columns;
  for (int64_t d = -reach; d <= reach; ++d) {
    int64_t bucket = config.buckets ? bucketOf(-d, config.buckets, config.maxDistance) : -d;
    columns.push_back(static_cast<int32_t>(std::clamp<int64_t>(bucket + span, 0, 2 * span - 1)));
  }
  return columns;
}

/// "c2p|p2c" or a list.
std::vector<std::string> readKinds(Config &config) {
  if (!config.isText("pos_att_type"))
    return config.texts("pos_att_type").value_or(std::vector<std::string>());
  std::string text = StringRef(config.text({"pos_att_type"}, "")).lower();
  SmallVector<StringRef> parts;
  StringRef(text).split(parts, '|', -1, /*KeepEmpty=*/false);
  std::vector<std::string> kinds;
  for (StringRef part : parts)
    kinds.push_back(part.trim().str());
  return kinds;
}

} // namespace

DebertaConfig DebertaConfig::read(Config &config) {
  DebertaConfig result;
  result.vocabSize = config.size({"vocab_size"}, 128100, Config::maxVocabulary);
  result.padding = config.padding(result.vocabSize, 0);
  result.width = config.size({"hidden_size"}, 1536);
  result.embeddingWidth = config.size({"embedding_size"}, result.width);
  result.layers = config.size({"num_hidden_layers"}, 24, Config::maxLayers);
  result.heads = config.size({"num_attention_heads"}, 24);
  result.ffnWidth = config.size({"intermediate_size"}, 6144);
  result.positions = config.size({"max_position_embeddings"}, 512, Config::maxPositions);
  result.types = config.integer({"type_vocab_size"}, 0, 0, Config::maxWidth);
  result.activation = config.activation({"hidden_act"}, "gelu");
  result.norm = {config.number({"layer_norm_eps"}, 1e-7)};
  result.init = {config.number({"initializer_range"}, 0.02)};
  result.tied = config.flag({"tie_word_embeddings"}, true);
  result.dropout.hidden = config.rate({"hidden_dropout_prob"}, 0.1);
  result.dropout.attention = config.rate({"attention_probs_dropout_prob"}, 0.1);
  result.dropout.classifier = result.dropout.hidden;
  result.legacy = config.flag({"legacy"}, true);
  config.checkHeads("hidden_size", result.width, "num_attention_heads", result.heads);

  result.relative = config.flag({"relative_attention"}, false);
  result.sharedKeys = config.flag({"share_att_key"}, false);
  result.addsPositions = config.flag({"position_biased_input"}, true);
  result.c2p = result.p2c = false;
  for (const std::string &kind : readKinds(config)) {
    if (kind != "c2p" && kind != "p2c")
      config.failText("pos_att_type", "c2p, p2c or both", kind);
    (kind == "c2p" ? result.c2p : result.p2c) = true;
  }
  constexpr int64_t limit = 1 << 16;
  result.buckets = std::max<int64_t>(config.integer({"position_buckets"}, -1, -1, limit), 0);
  int64_t distance = config.integer({"max_relative_positions"}, -1, -1, limit);
  result.maxDistance = distance < 1 ? std::min(result.positions, limit) : distance;
  if (result.buckets && (result.buckets < 4 || result.buckets % 2))
    config.fail("position_buckets", "an even number from 4 on (others are not supported)",
                Twine(result.buckets));
  if (result.buckets && result.maxDistance - 1 <= result.buckets / 2)
    config.fail("max_relative_positions",
                "more than half of position_buckets = " + Twine(result.buckets),
                Twine(result.maxDistance));
  std::string norms = config.text({"norm_rel_ebd"}, "none");
  result.normalizedDistances = StringRef(norms).lower().find("layer_norm") != std::string::npos;
  result.convKernel = config.integer({"conv_kernel_size"}, 0, 0, 1 << 10);
  result.convActivation = config.activation({"conv_act"}, "tanh");
  if (result.convKernel && result.convKernel % 2 == 0)
    config.fail("conv_kernel_size", "an odd number", Twine(result.convKernel));
  if (int64_t groups = config.size({"conv_groups"}, 1); result.convKernel && groups != 1)
    config.fail("conv_groups", "1 (others are not supported)", Twine(groups));
  result.poolerActivation = config.activation({"pooler_hidden_act"}, "gelu");
  for (auto [key, expected] : {std::pair<StringRef, int64_t>("pooler_hidden_size", result.width),
                               {"attention_head_size", result.width / result.heads}})
    if (int64_t found = config.size({key}, expected); found != expected)
      config.fail(key, Twine(expected) + " (others are not supported)", Twine(found));
  return result;
}

/// A linear layer of the embeddings of distances.
static Value projectDistances(Body &body, Value table, StringRef name) {
  int64_t width = widthOf(table);
  auto [weight, bias] = body.linearWeights(name, width, width, WeightLayout::OutIn, body.init);
  return LinearOp::create(body.builder, body.named("distances"), table.getType(), table, weight,
                          bias, WeightLayout::OutIn);
}

static Value scoresOf(Body &body, Value x, Value table, int64_t heads, StringRef name) {
  int64_t positions = cast<RankedTensorType>(table.getType()).getDimSize(0);
  return RelativeScoresOp::create(body.builder, body.named(name), body.rows(heads * positions), x,
                                  table, heads);
}

/// One layer, post-norm; `distances` is null without relative attention.
static Layer makeLayer(ModelBuilder &model, const DebertaConfig &config, Value distances) {
  std::vector<int32_t> columns = columnsOf(config);
  SmallVector<ModelBuilder::Argument> arguments = {{"x", model.entry().rows(config.width)},
                                                   {"sequences", model.sequencesType()}};
  if (distances)
    arguments.push_back({"rel_embeddings", distances.getType()});
  return model.layer("encoder_layer", arguments, config.init, [&](Body &body, ValueRange own) {
    Value x = own[0], near = distances ? body.drop(own[2]) : Value();
    const std::string block = "attention.self.";
    SmallVector<Value> qkv;
    for (StringRef part : {"query_proj", "key_proj", "value_proj"})
      qkv.push_back(body.linear(x, (block + part).str(), config.width));
    AttentionOptions options = {config.heads};
    auto project = [&](StringRef shared, StringRef separate) {
      return projectDistances(body, near, (block + (config.sharedKeys ? shared : separate)).str());
    };
    if (distances && config.c2p)
      options.queryScores =
          scoresOf(body, qkv[0], project("key_proj", "pos_key_proj"), config.heads, "c2p");
    if (distances && config.p2c)
      options.keyScores =
          scoresOf(body, qkv[1], project("query_proj", "pos_query_proj"), config.heads, "p2c");
    if (options.queryScores || options.keyScores)
      options.columns = columns;
    Value attention = body.linear(body.attention(qkv, own[1], options, config.scale()),
                                  "attention.output.dense", config.width);
    Value attended = body.layerNorm(body.add(body.drop(attention), x, "residual"),
                                    "attention.output.LayerNorm", config.norm);
    Value ffn = body.feedForward(config.activation, attended, "intermediate.dense", "output.dense",
                                 config.ffnWidth);
    return body.layerNorm(body.add(body.drop(ffn), attended, "residual"), "output.LayerNorm",
                          config.norm);
  });
}

static BertEncoder buildEmbeddings(ModelBuilder &model, const DebertaConfig &config,
                                   const std::string &base) {
  Value ids =
      model.input({"input_ids", {}, config.vocabSize, config.addsPositions ? config.positions : 0});
  Value mask = model.input({"attention_mask", model.missing(DefaultKind::Ones)});
  // Tokenizers give segments whether there is a table or not.
  SmallVector<Value> inputs = {
      ids, model.input({"token_type_ids", model.missing(DefaultKind::Zeros), config.types})};
  if (config.addsPositions)
    inputs.push_back(
        model.input({"position_ids", model.missing(DefaultKind::Columns), config.positions}));
  SmallVector<Value> packed = model.pack(inputs, mask);

  Body &body = model.entry();
  body.init = config.init;
  model.dropout = config.dropout;
  auto embed = [&](Value ids, const std::string &table, int64_t rows,
                   std::optional<int64_t> padding = {}) {
    return body.embedding(ids, base + table, rows, config.embeddingWidth, 1, padding);
  };
  Value x = embed(packed[0], "word_embeddings", config.vocabSize, config.padding);
  if (config.addsPositions)
    x = body.add(x, embed(packed[2], "position_embeddings", config.positions), "embeddings");
  if (config.types)
    x = body.add(x, embed(packed[1], "token_type_embeddings", config.types), "embeddings");
  if (config.embeddingWidth != config.width)
    x = body.linear(x, base + "embed_proj", config.width, /*hasBias=*/false);
  return {body.drop(body.layerNorm(x, base + "LayerNorm", config.norm)), packed.back()};
}

static BertEncoder buildEncoder(ModelBuilder &model, const DebertaConfig &config,
                                const std::string &base) {
  auto [hidden, sequences] = buildEmbeddings(model, config, base + "embeddings.");
  Body &body = model.entry();
  std::string encoder = base + "encoder.";
  Value distances;
  if (config.relative && (config.c2p || config.p2c)) {
    distances = body.weight(encoder + "rel_embeddings.weight", {2 * config.span(), config.width},
                            config.init.embedding(model.getContext()));
    if (config.normalizedDistances)
      distances = body.layerNorm(distances, encoder + "LayerNorm", config.norm);
  }
  Layer layer = makeLayer(model, config, distances);
  Value embedded = hidden;
  for (int64_t i = 0; i < config.layers; ++i) {
    SmallVector<Value> arguments = {hidden, sequences};
    if (distances)
      arguments.push_back(distances);
    hidden = model.call(layer, encoder + "layer." + std::to_string(i), arguments);
    if (i > 0 || !config.convKernel)
      continue;
    Value conv = body.convolution(embedded, sequences, sequences, encoder + "conv.conv",
                                  config.width, {config.convKernel, 1, config.convKernel / 2});
    conv = body.activation(config.convActivation, body.drop(conv));
    hidden =
        body.layerNorm(body.add(hidden, conv, "residual"), encoder + "conv.LayerNorm", config.norm);
  }
  return {hidden, sequences};
}

void transformer::buildDebertaV2(Import &import) {
  Config &config = import.config;
  DebertaConfig deberta = DebertaConfig::read(config);
  int64_t labels = readLabels(import);
  StringRef head = import.head;
  MaskedLmNames names = {"cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm",
                         "cls.predictions.decoder", "cls.predictions.bias",
                         "deberta.embeddings.word_embeddings"};
  if (!deberta.legacy) { // the embedding itself is its decoder
    names = {"lm_predictions.lm_head.dense", "lm_predictions.lm_head.LayerNorm",
             "lm_predictions.lm_head", "lm_predictions.lm_head.bias", names.embedding};
    deberta.tied = true;
    if (head == "ForMaskedLM" && deberta.embeddingWidth != deberta.width)
      config.fail("embedding_size", "hidden_size where \"legacy\" is false",
                  Twine(deberta.embeddingWidth));
  }
  if (!config.ok())
    return;

  ModelBuilder &model = import.model;
  bool baseModel = head == "Model";
  model.aliases = bertAliases("deberta.", !baseModel);
  if (head == "ForMaskedLM")
    declareTiedEmbedding(model, deberta, names);
  BertEncoder encoder = buildEncoder(model, deberta, baseModel ? "" : "deberta.");

  Body &body = model.entry();
  if (baseModel)
    return buildLastHiddenState(import, encoder, deberta.positions);
  if (head == "ForMaskedLM")
    buildMaskedLm(model, deberta, deberta.activation, names, encoder);
  if (head == "ForSequenceClassification") {
    Value first = body.drop(body.firstToken(encoder.hidden, encoder.sequences),
                            config.rate({"pooler_dropout"}, 0));
    Value dense = body.linear(first, "pooler.dense", deberta.width);
    Value pooled = body.activation(deberta.poolerActivation, dense);
    pooled = body.drop(pooled, config.rate({"cls_dropout"}, deberta.dropout.classifier));
    model.output("logits", body.linear(pooled, "classifier", labels), {"batch"});
  }
  buildTokenHead(import, labels, encoder);
}
