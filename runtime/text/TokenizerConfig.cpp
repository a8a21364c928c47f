//===- TokenizerConfig.cpp - tokenizer_config.json and its like -----------===//
#include "runtime/text/TokenizerConfig.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>

namespace transformer::runtime {
namespace {

/// In the order in which `transformers` gives them ids.
constexpr const char *namedKeys[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                     "pad_token", "cls_token", "mask_token"};

bool isNamedKey(std::string_view key) {
  return std::find(std::begin(namedKeys), std::end(namedKeys), key) != std::end(namedKeys);
}

} // namespace

DescribedToken readDescribedToken(const TokenizerField &field, bool special) {
  DescribedToken token;
  token.special = special;
  if (field.isString()) {
    token.content = field.text();
    return token;
  }
  token.content = field["content"].string();
  token.special = special || field.boolean("special", false);
  token.normalized = field.boolean("normalized", !token.special);
  token.singleWord = field.boolean("single_word", false);
  token.leftStrip = field.boolean("lstrip", false);
  token.rightStrip = field.boolean("rstrip", false);
  return token;
}

TokenizerConfig::TokenizerConfig(const TokenizerFiles &files)
    : where(files.prefix + "tokenizer_config.json"), config(files.json("tokenizer_config.json")),
      model(files.json("config.json")) {
  // The other files are older ways to say what added_tokens_decoder says.
  if (config.contains("added_tokens_decoder")) {
    fields()["added_tokens_decoder"].items([&](const std::string &key, const TokenizerField &item) {
      DescribedToken token = readDescribedToken(item, false);
      int64_t id = -1;
      auto end = key.data() + key.size();
      if (std::from_chars(key.data(), end, id).ptr != end || id < 0)
        item.fail("expected an id as its key, found \"{}\"", printable(key));
      token.id = id;
      added.push_back(std::move(token));
    });
  } else {
    Json map = files.json("special_tokens_map.json");
    for (auto item = map.begin(); item != map.end(); ++item)
      (item.key() == "additional_special_tokens" ? mapExtra : config[item.key()]) = item.value();
    readAdded(files);
  }
  std::stable_sort(added.begin(), added.end(),
                   [](const auto &a, const auto &b) { return *a.id < *b.id; });
}

/// added_tokens.json: {"<token>": id}.
void TokenizerConfig::readAdded(const TokenizerFiles &files) {
  std::string name = files.prefix + "added_tokens.json";
  Json json = files.json("added_tokens.json");
  TokenizerField(name, json).items([&](const std::string &content, const TokenizerField &id) {
    DescribedToken token;
    token.content = content;
    token.id = id.count();
    token.special = false;
    for (auto item = config.begin(); item != config.end(); ++item)
      if (isNamedKey(item.key()) && !item.value().is_null())
        token.special |=
            readDescribedToken({where, item.value(), item.key()}, true).content == content;
    token.normalized = !token.special;
    added.push_back(std::move(token));
  });
}

std::string TokenizerConfig::className() const {
  std::string name;
  for (const Json *json : {&config, &model})
    if (name.empty())
      name = TokenizerField(where, *json).string("tokenizer_class", "");
  if (name.ends_with("Fast"))
    name.resize(name.size() - 4);
  if (!name.empty())
    return name;
  static constexpr std::pair<std::string_view, const char *> ofTypes[] = {
      {"albert", "AlbertTokenizer"},
      {"marian", "MarianTokenizer"},
      {"mt5", "T5Tokenizer"},
      {"t5", "T5Tokenizer"},
      {"xlm-roberta", "XLMRobertaTokenizer"}};
  std::string type = TokenizerField(where, model).string("model_type", "");
  for (const auto &[key, className] : ofTypes)
    if (key == type)
      return className;
  return "";
}

void TokenizerConfig::setDefaults(
    std::initializer_list<std::pair<const char *, const char *>> tokens) {
  for (const auto &[key, content] : tokens)
    if (!config.contains(key))
      config[key] = content;
  auto name = [&](const std::string &key, const Json &value) {
    DescribedToken token = readDescribedToken({where, value, key}, true);
    for (const DescribedToken &other : added)
      if (other.content == token.content)
        token = other;
    token.special = true;
    namedTokens.emplace_back(key, std::move(token));
  };
  for (const char *key : namedKeys)
    if (fields().has(key))
      name(key, config[key]);
  for (auto item = config.begin(); item != config.end(); ++item) // of the model's own
    if (item.key().ends_with("_token") && !isNamedKey(item.key()) &&
        (item.value().is_string() || item.value().is_object()))
      name(item.key(), item.value());
  if (auto own = config.find("extra_special_tokens"); own != config.end() && own->is_object())
    for (auto item = own->begin(); item != own->end(); ++item)
      name(item.key(), item.value());
}

const DescribedToken *TokenizerConfig::named(std::string_view key) const {
  for (const auto &[name, token] : namedTokens)
    if (name == key)
      return &token;
  return nullptr;
}

std::optional<std::vector<DescribedToken>> TokenizerConfig::extra(bool alsoOfMap) const {
  Json none;
  auto find = [&](const char *key) -> const Json & {
    auto found = config.find(key);
    return found != config.end() ? *found : none;
  };
  const Json *list = &find("extra_special_tokens");
  if (list->is_object() && !list->empty())
    return std::nullopt;
  if (list->empty() && find("additional_special_tokens").is_array())
    list = &find("additional_special_tokens");
  if (!list->is_array() && alsoOfMap)
    list = &mapExtra;
  if (!list->is_array())
    return std::nullopt;
  std::vector<DescribedToken> result;
  TokenizerField(where, *list, "additional_special_tokens").each([&](const TokenizerField &item) {
    result.push_back(readDescribedToken(item, true));
  });
  return result;
}

std::vector<DescribedToken>
TokenizerConfig::tokens(const std::vector<DescribedToken> &others) const {
  std::vector<DescribedToken> result = added;
  for (DescribedToken &token : result)
    for (const auto &[key, other] : namedTokens)
      token.special |= token.content == other.content;
  std::unordered_set<std::string> known;
  for (const DescribedToken &token : result)
    known.insert(token.content);
  auto append = [&](const DescribedToken &token) {
    if (known.insert(token.content).second)
      result.push_back(token);
  };
  for (const auto &[key, token] : namedTokens)
    append(token);
  for (const DescribedToken &token : others)
    append(token);
  return result;
}

} // namespace transformer::runtime
