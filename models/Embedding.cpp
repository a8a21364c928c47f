//===- Embedding.cpp - how texts become vectors ---------------------------===//
#include "models/Family.h"
#include "models/Json.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {
struct Embedding {
  std::string pooling = "mean";
  bool normalize = true;
  int64_t maxLength;
};
} // namespace

/// The steps after the Transformer in modules.json: at most one pooling, then
/// at most a normalisation. Gives the pooling's folder.
static std::string readModules(Import &import, Embedding &embedding) {
  std::string error, folder = "1_Pooling";
  std::string file = import.checkpoint.path("modules.json");
  if (!import.checkpoint.hasFile("modules.json"))
    return folder;
  std::optional<Json> modules = readJson(file, error);
  if (!modules || !modules->is_array()) {
    import.config.failFile(error.empty() ? file + ": expected a list of modules" : error);
    return folder;
  }
  embedding.normalize = false;
  for (const Json &module : *modules) {
    auto text = [&](const char *key) {
      auto it = module.is_object() ? module.find(key) : module.end();
      return it != module.end() && it->is_string() ? it->get<std::string>() : std::string();
    };
    std::string type = text("type");
    StringRef kind = StringRef(type).substr(StringRef(type).rfind('.') + 1);
    if (kind == "Pooling")
      folder = text("path");
    else if (kind == "Normalize")
      embedding.normalize = true;
    else if (kind != "Transformer")
      import.config.failFile(file + ": 'type': expected Transformer, Pooling or Normalize, found " +
                             describe(Json(type)));
  }
  return folder;
}

static void readPooling(Import &import, StringRef file, Embedding &embedding) {
  std::string error;
  std::optional<Config> pooling = Config::load(file, error);
  if (!pooling)
    return import.config.failFile(error);
  std::string name = pooling->text({"pooling_mode"}, "");
  SmallVector<StringRef> modes;
  if (!name.empty())
    modes.push_back(name);
  static constexpr std::pair<StringLiteral, StringLiteral> flags[] = {
      {"pooling_mode_cls_token", "cls"},
      {"pooling_mode_mean_tokens", "mean"},
      {"pooling_mode_max_tokens", "max"}};
  for (auto [flag, mode] : flags)
    if (pooling->flag({flag}, false) && !llvm::is_contained(modes, mode))
      modes.push_back(mode);
  for (StringRef flag : {"pooling_mode_mean_sqrt_len_tokens", "pooling_mode_weightedmean_tokens",
                         "pooling_mode_lasttoken"})
    pooling->refuseFlag(flag);
  if (modes.size() > 1 ||
      (modes.size() == 1 && !llvm::is_contained({"cls", "mean", "max"}, modes[0])))
    pooling->failText("pooling_mode", "one of cls, mean, max", llvm::join(modes, "+"));
  if (!pooling->ok())
    return import.config.failFile(pooling->error());
  if (!modes.empty())
    embedding.pooling = modes.front().str();
}

void transformer::addEmbedding(Import &import, int64_t maxLength) {
  Embedding embedding;
  embedding.maxLength = maxLength;
  std::string folder = readModules(import, embedding);
  std::string poolingFile = folder.empty() ? "config.json" : folder + "/config.json";
  if (!folder.empty() && import.checkpoint.hasFile(poolingFile))
    readPooling(import, import.checkpoint.path(poolingFile), embedding);
  if (import.checkpoint.hasFile("sentence_bert_config.json")) {
    std::string error, file = import.checkpoint.path("sentence_bert_config.json");
    std::optional<Config> sentences = Config::load(file, error);
    if (!sentences)
      return import.config.failFile(error);
    int64_t length = sentences->size({"max_seq_length"}, maxLength, Config::maxPositions);
    if (!sentences->ok())
      return import.config.failFile(sentences->error());
    embedding.maxLength = std::min(length, maxLength);
  }
  Builder builder(import.model.getContext());
  import.model.setAttribute(
      attr::embedding,
      builder.getDictionaryAttr(
          {builder.getNamedAttr("pooling", builder.getStringAttr(embedding.pooling)),
           builder.getNamedAttr("normalize", builder.getBoolAttr(embedding.normalize)),
           builder.getNamedAttr("max_length", builder.getI64IntegerAttr(embedding.maxLength))}));
}
