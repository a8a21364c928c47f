//===- TokenizerReader.cpp - tokenizer.json and vocab.txt -----------------===//
#include "runtime/base/Error.h"
#include "runtime/base/Json.h"
#include "runtime/base/Path.h"
#include "runtime/files/Checkpoint.h"
#include "runtime/profile/Profile.h"
#include "runtime/text/Tokenizer.h"
#include "runtime/text/Unicode.h"

#include <algorithm>
#include <map>

namespace transformer::runtime {

/// Builds a Tokenizer from its files; every failure names the file and the field.
class TokenizerReader {
public:
  explicit TokenizerReader(std::string name) { result.name = std::move(name); }

  Tokenizer read(const std::string &text) {
    Json root = parseJson(result.name, text);
    if (!root.is_object())
      fail("{}: not a JSON object", result.name);
    try {
      if (root.contains("vocab") && root["vocab"].is_string())
        readVocab(root["vocab"].get_ref<const std::string &>(), root);
      else
        readTokenizerJson(root);
    } catch (const Json::exception &problem) {
      fail("{}: not the format of tokenizer.json: {}", result.name, printable(problem.what()));
    }
    return std::move(result);
  }

  /// vocab.txt: a token a line, its id the line's number from 0. `config` holds fields of
  /// tokenizer_config.json.
  void readVocab(const std::string &text, const Json &config) {
    size_t line = 0, start = 0;
    while (start < text.size()) {
      size_t end = std::min(text.find('\n', start), text.size());
      std::string token = text.substr(start, end - start);
      if (!token.empty() && token.back() == '\r')
        token.pop_back(); // Python reads lines with universal newlines
      result.model.vocab[token] = static_cast<int64_t>(line++);
      start = end + 1;
    }
    BertNormalizer normalizer;
    normalizer.lowercase = config.value("do_lower_case", true);
    normalizer.handleChineseChars = config.value("tokenize_chinese_chars", true);
    normalizer.stripAccents = optionalFlag(config, "strip_accents", normalizer.lowercase);
    result.normalizer = normalizer;
    auto special = [&](const char *key, const char *fallback) {
      std::string token = fallback;
      if (config.contains(key)) {
        const Json &value = config[key];
        if (value.is_string())
          token = value.get<std::string>();
        else if (value.is_object())
          token = value.value("content", token);
      }
      auto found = result.model.vocab.find(token);
      if (found == result.model.vocab.end())
        fail("{}: the vocabulary has no {} \"{}\"", result.name, key, printable(token));
      result.rawTokens.add({decodeUtf8(token), found->second});
      return std::pair(token, found->second);
    };
    result.model.unknownToken = special("unk_token", "[UNK]").first;
    result.pad = special("pad_token", "[PAD]").second;
    int64_t cls = special("cls_token", "[CLS]").second;
    int64_t sep = special("sep_token", "[SEP]").second;
    special("mask_token", "[MASK]");
    setClsSep(cls, sep);
  }

private:
  static bool optionalFlag(const Json &object, const char *key, bool fallback) {
    return object.contains(key) && !object[key].is_null() ? object[key].get<bool>() : fallback;
  }

  static std::string typeOf(const Json &object, const char *key) {
    if (!object.contains(key) || object[key].is_null())
      return "";
    return object[key].at("type").get<std::string>();
  }

  void setClsSep(int64_t cls, int64_t sep) {
    result.single = {{-1, {cls}, 0}, {0, {}, 0}, {-1, {sep}, 0}};
    result.pair = {{-1, {cls}, 0}, {0, {}, 0}, {-1, {sep}, 0}, {1, {}, 1}, {-1, {sep}, 1}};
  }

  void readTokenizerJson(const Json &root) {
    readModel(root.at("model"));
    std::string normalizer = typeOf(root, "normalizer");
    if (normalizer == "BertNormalizer")
      readNormalizer(root["normalizer"]);
    else if (!normalizer.empty())
      fail("{}: normalizer \"{}\" is not supported, expected BertNormalizer", result.name,
           printable(normalizer));
    std::string splitter = typeOf(root, "pre_tokenizer");
    if (splitter != "BertPreTokenizer")
      fail("{}: pre_tokenizer \"{}\" is not supported, expected BertPreTokenizer", result.name,
           printable(splitter));
    if (root.contains("added_tokens"))
      for (const Json &token : root["added_tokens"])
        readAddedToken(token);
    readPostProcessor(root);
    if (root.contains("truncation") && !root["truncation"].is_null()) {
      const Json &truncation = root["truncation"];
      result.limit = truncation.at("max_length").get<int64_t>();
      result.cutLeft = truncation.value("direction", "Right") == "Left";
    }
    auto pad = result.model.vocab.find("[PAD]");
    if (pad != result.model.vocab.end())
      result.pad = pad->second;
    if (root.contains("padding") && !root["padding"].is_null())
      result.pad = root["padding"].value("pad_id", result.pad);
  }

  void readModel(const Json &model) {
    // Old files leave the type out; WordPiece is known by its prefix.
    std::string type =
        model.value("type", model.contains("continuing_subword_prefix") ? "WordPiece" : "unknown");
    if (type != "WordPiece")
      fail("{}: tokenizer model \"{}\" is not supported, expected WordPiece", result.name,
           printable(type));
    result.model.unknownToken = model.value("unk_token", "[UNK]");
    result.model.prefix = model.value("continuing_subword_prefix", "##");
    result.model.maxWordLength = model.value("max_input_chars_per_word", size_t(100));
    const Json &vocab = model.at("vocab");
    result.model.vocab.reserve(vocab.size());
    for (const auto &[token, id] : vocab.items())
      result.model.vocab.emplace(token, id.get<int64_t>());
  }

  void readNormalizer(const Json &from) {
    BertNormalizer normalizer;
    normalizer.cleanText = optionalFlag(from, "clean_text", true);
    normalizer.handleChineseChars = optionalFlag(from, "handle_chinese_chars", true);
    normalizer.lowercase = optionalFlag(from, "lowercase", true);
    normalizer.stripAccents = optionalFlag(from, "strip_accents", normalizer.lowercase);
    result.normalizer = normalizer;
  }

  /// The model's id of an added token, or the next free one: like Hugging Face's tokenizers, which
  /// do not believe the id that the file states.
  int64_t addedId(const std::string &content) {
    auto known = result.model.vocab.find(content);
    if (known != result.model.vocab.end())
      return known->second;
    auto fresh = std::max(nextId, static_cast<int64_t>(result.model.vocab.size()));
    auto [place, isNew] = newIds.emplace(content, fresh);
    if (isNew)
      nextId = fresh + 1;
    return place->second;
  }

  void readAddedToken(const Json &from) {
    auto content = from.at("content").get<std::string>();
    AddedToken token;
    token.content = decodeUtf8(content);
    token.id = addedId(content);
    token.singleWord = from.value("single_word", false);
    token.leftStrip = from.value("lstrip", false);
    token.rightStrip = from.value("rstrip", false);
    if (!from.value("normalized", !from.value("special", false))) {
      result.rawTokens.add(std::move(token));
      return;
    }
    if (result.normalizer)
      token.content = result.normalizer->normalize(std::move(token.content));
    result.normalizedTokens.add(std::move(token));
  }

  void readPostProcessor(const Json &root) {
    std::string type = typeOf(root, "post_processor");
    if (type.empty()) {
      result.single = {{0, {}, 0}};
      result.pair = {{0, {}, 0}, {1, {}, 1}};
    } else if (type == "BertProcessing") {
      const Json &from = root["post_processor"];
      setClsSep(from.at("cls").at(1).get<int64_t>(), from.at("sep").at(1).get<int64_t>());
    } else if (type == "TemplateProcessing") {
      const Json &from = root["post_processor"];
      result.single = readTemplate(from.at("single"), from.at("special_tokens"));
      result.pair = readTemplate(from.at("pair"), from.at("special_tokens"));
    } else {
      fail("{}: post_processor \"{}\" is not supported, expected TemplateProcessing or "
           "BertProcessing",
           result.name, printable(type));
    }
  }

  static std::vector<Tokenizer::TemplatePart> readTemplate(const Json &parts, const Json &special) {
    std::vector<Tokenizer::TemplatePart> read;
    for (const Json &part : parts) {
      Tokenizer::TemplatePart item;
      bool isText = part.contains("Sequence");
      const Json &body = isText ? part["Sequence"] : part.at("SpecialToken");
      item.type = body.value("type_id", int64_t(0));
      auto id = body.at("id").get<std::string>();
      if (isText)
        item.text = id == "B" ? 1 : 0;
      else
        item.ids = special.at(id).at("ids").get<std::vector<int64_t>>();
      read.push_back(std::move(item));
    }
    return read;
  }

  Tokenizer result;
  std::map<std::string, int64_t> newIds; // of added tokens that the model does not know
  int64_t nextId = 0;
};

Tokenizer Tokenizer::parse(const std::string &name, const std::string &text) {
  ProfileScope scope("read tokenizer");
  return TokenizerReader(name).read(text);
}

Tokenizer Tokenizer::open(const std::string &path) {
  std::string target = path;
  if (isDirectory(path)) {
    target = path + "/tokenizer.json";
    if (!isFile(target))
      target = path + "/vocab.txt";
    if (!isFile(target))
      fail("{}: no tokenizer.json or vocab.txt in this folder", path);
  }
  std::string text(MappedFile(target).text());
  if (target.size() < 4 || target.compare(target.size() - 4, 4, ".txt") != 0)
    return parse(target, text);
  Json config = Json::object();
  std::string beside = parentFolder(target) + "/tokenizer_config.json";
  if (isFile(beside))
    config = parseJson(beside, MappedFile(beside).text());
  if (!config.is_object())
    fail("{}: not a JSON object", beside);
  config["vocab"] = text;
  return parse(target, jsonText(config));
}

} // namespace transformer::runtime
