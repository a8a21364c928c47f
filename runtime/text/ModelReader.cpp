//===- ModelReader.cpp - the field model of tokenizer.json ----------------===//
#include "runtime/text/TokenizerParts.h"

#include <charconv>
#include <cmath>

namespace transformer::runtime {
namespace {

Vocabulary readVocabulary(const TokenizerField &field) {
  Vocabulary vocab;
  vocab.reserve(field.size());
  field.items(
      [&](const std::string &token, const TokenizerField &id) { vocab.add(token, id.count()); });
  return vocab;
}

WordPiece readWordPiece(const TokenizerField &field) {
  WordPiece model;
  model.unknownToken = field.string("unk_token", "[UNK]");
  model.prefix = field.string("continuing_subword_prefix", "##");
  model.maxWordLength = static_cast<size_t>(field.count("max_input_chars_per_word", 100));
  model.vocab = readVocabulary(field["vocab"]);
  return model;
}

/// The two tokens of a merge: ["a", "b"], or "a b".
std::pair<std::string_view, std::string_view> readPair(const TokenizerField &field) {
  if (field.isList() && field.size() == 2)
    return {field.at(0).text(), field.at(1).text()};
  if (field.isString()) {
    std::string_view text = field.text();
    size_t space = text.find(' ');
    if (space != std::string_view::npos && text.find(' ', space + 1) == std::string_view::npos)
      return {text.substr(0, space), text.substr(space + 1)};
  }
  field.fail("expected two tokens, found {}", describe(field.raw()));
}

Bpe readBpe(const TokenizerField &field) {
  Bpe model;
  if (field.has("dropout") && field["dropout"].number() != 0)
    field["dropout"].fail("dropout is not supported, expected null or 0, found {}",
                          describe(field["dropout"].raw()));
  if (field.has("unk_token"))
    model.unknownToken = field["unk_token"].string();
  model.prefix = field.string("continuing_subword_prefix", "");
  model.suffix = field.string("end_of_word_suffix", "");
  model.fuseUnknown = field.boolean("fuse_unk", false);
  model.byteFallback = field.boolean("byte_fallback", false);
  model.ignoreMerges = field.boolean("ignore_merges", false);
  model.vocab = readVocabulary(field["vocab"]);
  TokenizerField merges = field["merges"];
  model.reserveMerges(merges.size());
  uint32_t rank = 0;
  merges.each([&](const TokenizerField &merge) {
    if (merge.isString() && merge.text().starts_with("#version"))
      return;
    auto [first, second] = readPair(merge);
    if (!model.addMerge(first, second, rank++))
      merge.fail("expected tokens of the vocabulary, found \"{}\" and \"{}\"",
                 printable(std::string(first), 40), printable(std::string(second), 40));
  });
  return model;
}

/// The number that `tokenizers` reads where the file says `value` in as few digits as needed. Its
/// JSON reader rounds twice, the digits and their scaling, and paths of equal pieces in another
/// order differ by the last bit.
double roundedTwice(double value) {
  char text[32];
  auto written =
      std::to_chars(text, text + sizeof(text), std::abs(value), std::chars_format::scientific);
  std::string_view digits(text, static_cast<size_t>(written.ptr - text));
  size_t end = digits.find('e');
  if (end == std::string_view::npos) // infinite
    return value;
  uint64_t significand = 0;
  int exponent = 0;
  size_t sign = end + (digits[end + 1] == '+' ? 2 : 1);
  std::from_chars(text + sign, written.ptr, exponent);
  for (char c : digits.substr(0, end))
    if (c != '.')
      significand = 10 * significand + static_cast<uint64_t>(c - '0');
  if (end > 2)
    exponent -= static_cast<int>(end) - 2; // digits behind the point
  double power = 0;
  std::string ten = formatted("1e{}", std::abs(exponent));
  if (std::from_chars(ten.data(), ten.data() + ten.size(), power).ec != std::errc())
    return value;
  auto whole = static_cast<double>(significand);
  return std::copysign(exponent < 0 ? whole / power : whole * power, value);
}

Unigram readUnigram(const TokenizerField &field) {
  Unigram model;
  TokenizerField vocab = field["vocab"];
  vocab.each([&](const TokenizerField &item) {
    model.vocab.add(item.at(0).text(), static_cast<int64_t>(model.scores.size()));
    model.scores.push_back(roundedTwice(item.at(1).number()));
  });
  if (field.has("unk_id")) {
    model.unknownId = field["unk_id"].count();
    if (*model.unknownId >= static_cast<int64_t>(model.scores.size()))
      field["unk_id"].fail("expected less than the {} tokens of the vocabulary, found {}",
                           model.scores.size(), *model.unknownId);
  }
  model.byteFallback = field.boolean("byte_fallback", false);
  model.finish();
  return model;
}

/// Old files leave the type out.
std::string guessType(const TokenizerField &field) {
  if (field.has("merges"))
    return "BPE";
  if (field.has("continuing_subword_prefix"))
    return "WordPiece";
  return field.has("vocab") && field["vocab"].isList() ? "Unigram" : "unknown";
}

} // namespace

std::variant<WordPiece, Bpe, Unigram> readModel(const TokenizerField &field) {
  std::string type = field.has("type") ? field["type"].string() : guessType(field);
  if (type == "WordPiece")
    return readWordPiece(field);
  if (type == "BPE")
    return readBpe(field);
  if (type == "Unigram")
    return readUnigram(field);
  field.fail("tokenizer model \"{}\" is not supported, expected BPE, Unigram or WordPiece",
             printable(type));
}

} // namespace transformer::runtime
