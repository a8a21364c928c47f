//===- TokenizerReader.cpp - tokenizer.json and vocab.txt -----------------===//
#include "runtime/text/TokenizerReader.h"

#include <algorithm>

namespace transformer::runtime {

Tokenizer TokenizerReader::read(const std::string &text) {
  Json json = parseJson(result.name, text);
  TokenizerField root(result.name, json);
  if (!root.isObject())
    root.fail("not a JSON object");
  if (root.has("vocab") && root["vocab"].isString())
    readVocab(root["vocab"].text(), root);
  else if (root.has("files"))
    readPieces(TokenizerFiles::parse(root["files"]));
  else
    readTokenizerJson(root);
  finish();
  return std::move(result);
}

/// vocab.txt: a token a line, its id the line's number from 0. `config` holds fields of
/// tokenizer_config.json.
void TokenizerReader::readVocab(const std::string &text, const TokenizerField &config) {
  WordPiece model;
  size_t line = 0, start = 0;
  while (start < text.size()) {
    size_t end = std::min(text.find('\n', start), text.size());
    std::string token = text.substr(start, end - start);
    if (!token.empty() && token.back() == '\r')
      token.pop_back(); // Python reads lines with universal newlines
    model.vocab.add(token, static_cast<int64_t>(line++));
    start = end + 1;
  }
  BertNormalizer normalizer;
  normalizer.lowercase = config.boolean("do_lower_case", true);
  normalizer.handleChineseChars = config.boolean("tokenize_chinese_chars", true);
  normalizer.stripAccents = config.boolean("strip_accents", normalizer.lowercase);
  result.normalizer.steps = {normalizer};
  result.preTokenizer.steps = {SplitBert{}};
  result.decoder = Decoder{{JoinWordPieces{}}};
  auto special = [&](const char *key, const char *fallback) {
    std::string token = fallback;
    if (config.has(key)) {
      TokenizerField value = config[key];
      token = value.isObject() ? value.string("content", fallback) : value.string();
    }
    int64_t id = model.vocab.find(token);
    if (id < 0)
      fail("{}: the vocabulary has no {} \"{}\"", result.name, key, printable(token));
    result.rawTokens.add({token, id});
    remember(token, token, id, /*special=*/true);
    return std::pair(token, id);
  };
  model.unknownToken = special("unk_token", "[UNK]").first;
  result.pad = special("pad_token", "[PAD]").second;
  int64_t cls = special("cls_token", "[CLS]").second;
  int64_t sep = special("sep_token", "[SEP]").second;
  special("mask_token", "[MASK]");
  surround(surroundBert(cls, sep));
  result.model = std::move(model);
}

void TokenizerReader::readTokenizerJson(const TokenizerField &root) {
  TokenizerField model = root["model"];
  result.model = readModel(model);
  tokens = std::holds_alternative<Unigram>(result.model) ? model["vocab"].size()
                                                         : result.vocabulary().size();
  if (root.has("normalizer"))
    result.normalizer = readNormalizer(root["normalizer"]);
  if (root.has("pre_tokenizer"))
    result.preTokenizer = readPreTokenizer(root["pre_tokenizer"]);
  if (root.has("decoder"))
    result.decoder = readDecoder(root["decoder"]);
  if (root.has("added_tokens"))
    root["added_tokens"].each([&](const TokenizerField &field) {
      if (field["content"].text().empty())
        return;
      DescribedToken token = readDescribedToken(field, false);
      add(token, addedId(token.content));
    });
  surround(root.has("post_processor") ? readPostProcessor(root["post_processor"])
                                      : PostProcessor());
  if (root.has("truncation"))
    readTruncation(root["truncation"]);
  for (const char *name : {"[PAD]", "<pad>"})
    if (int64_t id = result.idOf(name); id >= 0) {
      result.pad = id;
      break;
    }
  if (root.has("padding"))
    result.pad = root["padding"].count("pad_id", result.pad);
}

void TokenizerReader::readTruncation(const TokenizerField &field) {
  Truncation &truncation = result.truncation;
  truncation.maxLength = field["max_length"].count(std::numeric_limits<int64_t>::max());
  truncation.left = field.string("direction", "Right") == "Left";
  std::string strategy = field.string("strategy", "LongestFirst");
  if (strategy == "OnlyFirst")
    truncation.strategy = Truncation::OnlyFirst;
  else if (strategy == "OnlySecond")
    truncation.strategy = Truncation::OnlySecond;
  else if (strategy != "LongestFirst")
    field["strategy"].fail("expected LongestFirst, OnlyFirst or OnlySecond, found \"{}\"",
                           printable(strategy));
}

int64_t TokenizerReader::addedId(const std::string &content) {
  int64_t known = result.idOf(content);
  if (known >= 0)
    return known;
  nextId = std::max(nextId, static_cast<int64_t>(tokens));
  return nextId++;
}

void TokenizerReader::add(const DescribedToken &described, int64_t id) {
  AddedToken token;
  token.content = described.content;
  token.id = id;
  token.singleWord = described.singleWord;
  token.leftStrip = described.leftStrip;
  token.rightStrip = described.rightStrip;
  if (described.normalized) {
    NormalizedText text{token.content, true};
    result.normalizer.apply(text);
    token.content = std::move(text.text);
  }
  remember(described.content, token.content, id, described.special);
  (described.normalized ? result.normalizedTokens : result.rawTokens).add(std::move(token));
}

void TokenizerReader::remember(const std::string &content, const std::string &text, int64_t id,
                               bool special) {
  result.addedIds[content] = id;
  result.added[id] = text;
  if (special) {
    result.special.insert(content);
    result.specialStarts[static_cast<unsigned char>(content[0])] = true;
  }
}

void TokenizerReader::surround(PostProcessor parts) {
  result.single = std::move(parts.single);
  result.pair = std::move(parts.pair);
}

void TokenizerReader::finish() {
  result.rawTokens.finish();
  result.normalizedTokens.finish();
  auto &before = result.normalizer.steps;
  auto &cuts = result.preTokenizer.steps;
  auto isBytes = [](const PreTokenizerStep &step) {
    return std::holds_alternative<SplitBytes>(step);
  };
  if (auto *bpe = std::get_if<Bpe>(&result.model)) {
    bool charactersBefore = std::any_of(before.begin(), before.end(), [](const auto &step) {
      return std::holds_alternative<BytesToCharacters>(step);
    });
    bool keepBytes = !charactersBefore && !cuts.empty() && isBytes(cuts.back()) &&
                     std::count_if(cuts.begin(), cuts.end(), isBytes) == 1;
    if (keepBytes)
      std::get<SplitBytes>(cuts.back()).keepBytes = true;
    bpe->finish(keepBytes);
  }
}

} // namespace transformer::runtime
