#include "runtime/text/PreTokenizer.h"
#include "test/runtime/TestSupport.h"

using namespace transformer::runtime;
using Texts = std::vector<std::string>;

namespace {

Texts pieces(const PreTokenizerStep &step, const std::string &text) {
  Segments segments{text, {{0, text.size(), true}}, {}};
  PreTokenizer{{step}}.apply(segments);
  Texts result;
  for (const Segment &item : segments.items)
    result.emplace_back(segments.of(item));
  return result;
}

Split at(const char *text, SplitBehavior behavior) { return {text, {}, {}, behavior, false}; }

Split by(SplitPattern pattern) { return {"", {}, pattern}; }

TEST(PreTokenizer, WhatBecomesOfMatches) {
  const std::string text = "the-final--countdown";
  EXPECT_EQ(pieces(at("-", SplitBehavior::Removed), text), (Texts{"the", "final", "countdown"}));
  EXPECT_EQ(pieces(at("-", SplitBehavior::Isolated), text),
            (Texts{"the", "-", "final", "-", "-", "countdown"}));
  EXPECT_EQ(pieces(at("-", SplitBehavior::MergedWithPrevious), text),
            (Texts{"the-", "final-", "-", "countdown"}));
  EXPECT_EQ(pieces(at("-", SplitBehavior::MergedWithNext), text),
            (Texts{"the", "-final", "-", "-countdown"}));
  EXPECT_EQ(pieces(at("-", SplitBehavior::Contiguous), text),
            (Texts{"the", "-", "final", "--", "countdown"}));
}

TEST(PreTokenizer, Gpt2) {
  EXPECT_EQ(pieces(by(SplitPattern::Gpt2), "It's  12,5 \u00e9t\u00e9!!\n\n x"),
            (Texts{"It", "'s", " ", " 12", ",", "5", " \u00e9t\u00e9", "!!", "\n\n", " x"}));
  EXPECT_EQ(pieces(by(SplitPattern::Gpt2), "a  "), (Texts{"a", "  "}));
  EXPECT_EQ(pieces(by(SplitPattern::Gpt2), "'S 'll"), (Texts{"'", "S", " '", "ll"}));
}

TEST(PreTokenizer, Llama3AndQwen2) {
  const std::string text = "I'LL\tgo 12345!?\n\n  x\r\n y";
  EXPECT_EQ(pieces(by(SplitPattern::Llama3), text),
            (Texts{"I", "'LL", "\tgo", " ", "123", "45", "!?\n\n", " ", " x", "\r\n", " y"}));
  EXPECT_EQ(pieces(by(SplitPattern::Qwen2), "a 12"), (Texts{"a", " ", "1", "2"}));
}

TEST(PreTokenizer, HandWrittenPatternsAsThroughPcre2) {
  const char *const patterns[] = {
      R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
  const char *const parts[] = {"a",    "Bc", " ",      "  ", "\n", "\r",     "\t",     "1",
                               "2345", "'",  "'s",     "'l", "L",  "\u00e9", "\u4e2d", "!",
                               ".",    "_",  "\u3000", "re", "ve", "\u0301", "\u2167", "\u017f"};
  uint64_t state = 1;
  for (const char *pattern : patterns) {
    auto known = knownPattern(pattern);
    ASSERT_TRUE(known);
    Split regex{"", Regex("pattern", pattern), {}};
    for (int round = 0; round < 300; ++round) {
      std::string text;
      for (int i = 0; i < 12; ++i) {
        state = state * 6364136223846793005 + 1442695040888963407;
        text += parts[(state >> 33) % std::size(parts)];
      }
      EXPECT_EQ(pieces(by(*known), text), pieces(regex, text)) << text;
    }
  }
}

TEST(PreTokenizer, RegularExpressionsOfOniguruma) {
  auto split = [](const char *pattern, const char *text) {
    return pieces(Split{"", Regex("t", pattern), {}}, text);
  };
  // A class in a class, as in BLOOM's pattern.
  EXPECT_EQ(split(R"( ?[^(\s|[.,!])]+)", "a(b c,d"), (Texts{"a", "(", "b", " c", ",", "d"}));
  EXPECT_EQ(split(R"(\h+)", "beeg"), (Texts{"bee", "g"})); // hexadecimal digits
  EXPECT_EQ(split(R"(\w{,2})", "abc"), (Texts{"ab", "c"}));
  EXPECT_EQ(split(R"(\d+|\p{Lu})", "a\u066112B"), (Texts{"a", "\u066112", "B"}));
  EXPECT_EQ(split(R"(\p{L})", "!\u1c89"), (Texts{"!", "\u1c89"})); // newer than Unicode 14
  EXPECT_EQ(split(R"(^b)", "a\nb"), (Texts{"a\n", "b"}));          // at every line
  expectContains(errorOf([&] { split(R"([a-z&&[^b]])", ""); }), {"t: regular", "&&"});
  expectContains(errorOf([&] { split("(a", ""); }), {"(a", "not supported", "parenthes"});
  expectContains(errorOf([&] { split("[a", ""); }), {"without ]"});
}

// PCRE2 stops after ten million steps unless told otherwise.
TEST(PreTokenizer, ALongRunOfSpacesByARegularExpression) {
  std::string text(12'000'000, ' ');
  Split split{"", Regex("t", R"(\s*[\r\n]+|\s+(?!\S)|\s+)"), {}};
  EXPECT_EQ(pieces(split, text), Texts{text});
}

TEST(PreTokenizer, SpacesAsMarks) {
  EXPECT_EQ(pieces(Metaspace{"\u2581"}, "a  b"), (Texts{"\u2581a", "\u2581", "\u2581b"}));
  EXPECT_EQ(pieces(Metaspace{"\u2581", Metaspace::Never, false}, "a b"), (Texts{"a\u2581b"}));
  EXPECT_EQ(pieces(Metaspace{"\u2581"}, " a"), (Texts{"\u2581a"}));
  Segments later{"a", {{0, 1, false}}, {}};
  PreTokenizer{{Metaspace{"\u2581", Metaspace::First}}}.apply(later);
  EXPECT_EQ(later.text, "a"); // not the start of the text
}

TEST(PreTokenizer, Classes) {
  EXPECT_EQ(pieces(SplitClass{SplitClass::Whitespace, SplitBehavior::Removed}, " a\u3000b\n"),
            (Texts{"a", "b"}));
  EXPECT_EQ(pieces(SplitClass{SplitClass::Numeric, SplitBehavior::Contiguous}, "a12b\u00bd"),
            (Texts{"a", "12", "b", "\u00bd"}));
  EXPECT_EQ(pieces(SplitClass{SplitClass::Punctuation, SplitBehavior::Isolated}, "a!?b"),
            (Texts{"a", "!", "?", "b"}));
  EXPECT_EQ(pieces(SplitWords{}, "ab-- c_1"), (Texts{"ab", "--", "c_1"}));
  EXPECT_EQ(pieces(SplitBert{}, "ab, c"), (Texts{"ab", ",", "c"}));
  EXPECT_EQ(pieces(SplitLength{2}, "a\u00e9c"), (Texts{"a\u00e9", "c"}));
  EXPECT_EQ(pieces(SplitBytes{true, true, false}, "a b\u00e9"),
            (Texts{"\u0120a", "\u0120b\u00c3\u00a9"}));
}

} // namespace
