//===- NormalizerReader.cpp - normalizers of a tokenizer.json -------------===//
#include "runtime/text/TokenizerParts.h"
#include "runtime/text/Utf8.h"

namespace transformer::runtime {
namespace {

BertNormalizer readBert(const TokenizerField &field) {
  BertNormalizer normalizer;
  normalizer.cleanText = field.boolean("clean_text", true);
  normalizer.handleChineseChars = field.boolean("handle_chinese_chars", true);
  normalizer.lowercase = field.boolean("lowercase", true);
  normalizer.stripAccents = field.boolean("strip_accents", normalizer.lowercase);
  return normalizer;
}

Precompiled readPrecompiled(const TokenizerField &field) {
  TokenizerField data = field["precompiled_charsmap"];
  auto bytes = decodeBase64(data.text());
  if (!bytes)
    data.fail("expected base64, found {}", describe(data.raw()));
  return {std::make_shared<Charsmap>(data.where(), *bytes)};
}

void append(const TokenizerField &field, std::vector<NormalizerStep> &steps) {
  std::string type = field["type"].string();
  if (type == "Sequence")
    field["normalizers"].each([&](const TokenizerField &item) { append(item, steps); });
  else if (type == "BertNormalizer" || type == "Bert")
    steps.push_back(readBert(field));
  else if (type == "Strip")
    steps.push_back(
        StripSpace{field.boolean("strip_left", true), field.boolean("strip_right", true)});
  else if (type == "StripAccents")
    steps.push_back(StripAccents{});
  else if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD")
    steps.push_back(UnicodeForm{type.back() == 'C', type[2] == 'K'});
  else if (type == "Lowercase")
    steps.push_back(Lowercase{});
  else if (type == "Nmt")
    steps.push_back(Nmt{});
  else if (type == "Precompiled")
    steps.push_back(readPrecompiled(field));
  else if (type == "Replace")
    steps.push_back(readReplace(field));
  else if (type == "Prepend")
    steps.push_back(Prepend{field["prepend"].string()});
  else if (type == "ByteLevel")
    steps.push_back(BytesToCharacters{});
  else
    field.fail("normalizer \"{}\" is not supported, expected BertNormalizer, ByteLevel, Lowercase, "
               "NFC, NFD, NFKC, NFKD, Nmt, Precompiled, Prepend, Replace, Sequence, Strip or "
               "StripAccents",
               printable(type));
}

} // namespace

Pattern readPattern(const TokenizerField &field) {
  if (field.has("String"))
    return {field["String"].string(), std::nullopt};
  TokenizerField regex = field["Regex"];
  return {{}, Regex(regex.where(), regex.string())};
}

Replace readReplace(const TokenizerField &field) {
  Pattern pattern = readPattern(field["pattern"]);
  return {std::move(pattern.text), std::move(pattern.regex), field["content"].string()};
}

char32_t readCharacter(const TokenizerField &field) {
  const std::string &text = field.text();
  size_t end = 0;
  char32_t c = text.empty() ? 0 : nextCharacter(text, end);
  if (text.empty() || end != text.size())
    field.fail("expected one character, found {}", describe(field.raw()));
  return c;
}

Normalizer readNormalizer(const TokenizerField &field) {
  Normalizer result;
  append(field, result.steps);
  return result;
}

} // namespace transformer::runtime
