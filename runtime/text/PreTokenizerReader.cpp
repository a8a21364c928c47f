//===- PreTokenizerReader.cpp - pre-tokenizers of a tokenizer.json --------===//
#include "runtime/text/TokenizerParts.h"
#include "runtime/text/Unicode.h"

namespace transformer::runtime {
namespace {

SplitBehavior readBehavior(const TokenizerField &field) {
  static constexpr std::pair<std::string_view, SplitBehavior> names[] = {
      {"Removed", SplitBehavior::Removed},
      {"Isolated", SplitBehavior::Isolated},
      {"MergedWithPrevious", SplitBehavior::MergedWithPrevious},
      {"MergedWithNext", SplitBehavior::MergedWithNext},
      {"Contiguous", SplitBehavior::Contiguous}};
  for (const auto &[name, behavior] : names)
    if (field.text() == name)
      return behavior;
  field.fail("expected Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous, found "
             "{}",
             describe(field.raw()));
}

Split readSplit(const TokenizerField &field) {
  Split split;
  split.behavior = readBehavior(field["behavior"]);
  split.invert = field.boolean("invert", false);
  TokenizerField pattern = field["pattern"];
  bool keepsMatches = split.behavior == SplitBehavior::Isolated ||
                      (split.behavior == SplitBehavior::Removed && split.invert);
  if (keepsMatches && pattern.has("Regex"))
    split.pattern = knownPattern(pattern["Regex"].text());
  if (!split.pattern) {
    Pattern read = readPattern(pattern);
    split.text = std::move(read.text);
    split.regex = std::move(read.regex);
  }
  return split;
}

void append(const TokenizerField &field, std::vector<PreTokenizerStep> &steps) {
  std::string type = field["type"].string();
  if (type == "Sequence") {
    field["pretokenizers"].each([&](const TokenizerField &item) { append(item, steps); });
  } else if (type == "ByteLevel") {
    steps.push_back(
        SplitBytes{field.boolean("add_prefix_space", true), field.boolean("use_regex", true)});
  } else if (type == "Split") {
    steps.push_back(readSplit(field));
  } else if (type == "Metaspace") {
    steps.push_back(readMetaspace(field));
  } else if (type == "BertPreTokenizer") {
    steps.push_back(SplitBert{});
  } else if (type == "Whitespace") {
    steps.push_back(SplitWords{});
  } else if (type == "WhitespaceSplit") {
    steps.push_back(SplitClass{SplitClass::Whitespace, SplitBehavior::Removed});
  } else if (type == "Punctuation") {
    steps.push_back(SplitClass{SplitClass::Punctuation, field.has("behavior")
                                                            ? readBehavior(field["behavior"])
                                                            : SplitBehavior::Isolated});
  } else if (type == "Digits") {
    steps.push_back(SplitClass{SplitClass::Numeric, field.boolean("individual_digits", false)
                                                        ? SplitBehavior::Isolated
                                                        : SplitBehavior::Contiguous});
  } else if (type == "CharDelimiterSplit" || type == "Delimiter") {
    readCharacter(field["delimiter"]);
    steps.push_back(
        Split{field["delimiter"].string(), std::nullopt, std::nullopt, SplitBehavior::Removed});
  } else if (type == "FixedLength") {
    auto length = static_cast<size_t>(field.count("length", 5));
    if (length == 0)
      field["length"].fail("expected 1 or more, found 0");
    steps.push_back(SplitLength{length});
  } else {
    field.fail("pre_tokenizer \"{}\" is not supported, expected BertPreTokenizer, ByteLevel, "
               "CharDelimiterSplit, Digits, FixedLength, Metaspace, Punctuation, Sequence, Split, "
               "Whitespace or WhitespaceSplit",
               printable(type));
  }
}

} // namespace

Metaspace readMetaspace(const TokenizerField &field) {
  Metaspace space;
  readCharacter(field["replacement"]);
  space.replacement = field["replacement"].string();
  space.split = field.boolean("split", true);
  std::string scheme = field.string("prepend_scheme", "always");
  if (scheme == "never" || !field.boolean("add_prefix_space", true))
    space.prepend = Metaspace::Never;
  else if (scheme == "first")
    space.prepend = Metaspace::First;
  else if (scheme != "always")
    field["prepend_scheme"].fail("expected always, first or never, found \"{}\"",
                                 printable(scheme));
  return space;
}

PreTokenizer readPreTokenizer(const TokenizerField &field) {
  PreTokenizer result;
  append(field, result.steps);
  return result;
}

} // namespace transformer::runtime
