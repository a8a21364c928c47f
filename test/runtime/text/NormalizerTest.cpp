#include "runtime/text/Normalizer.h"
#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"
#include "test/runtime/TestSupport.h"

#include <cstring>

using namespace transformer::runtime;

namespace {

NormalizedText run(const NormalizerStep &step, const std::string &text) {
  NormalizedText result{text, true};
  Normalizer{{step}}.apply(result);
  return result;
}

TEST(Normalizer, Forms) {
  const std::string text = "\u00e9\u212b\ufb01 e\u0301\u1112\u1161\u11ab";
  EXPECT_EQ(run(UnicodeForm{true, false}, text).text, "\u00e9\u00c5\ufb01 \u00e9\ud55c");
  EXPECT_EQ(run(UnicodeForm{true, true}, text).text, "\u00e9\u00c5fi \u00e9\ud55c");
  EXPECT_EQ(run(UnicodeForm{false, true}, "\u00bd\u00e9").text, "1\u20442e\u0301");
  EXPECT_EQ(run(UnicodeForm{false, false}, "\uac00").text, "\u1100\u1161");
  EXPECT_EQ(run(UnicodeForm{true, false}, "a\u0316\u0301").text, "\u00e1\u0316");
  EXPECT_EQ(run(UnicodeForm{true, false}, "a\u0300\u0301").text, "\u00e0\u0301"); // same class
}

TEST(Normalizer, Steps) {
  EXPECT_EQ(run(Lowercase{}, "\u00c0BC\u0130").text, "\u00e0bci\u0307");
  EXPECT_EQ(run(StripAccents{}, "e\u0301x\u093e").text, "ex"); // spacing marks, too
  EXPECT_EQ(run(StripSpace{true, true}, " \u3000a b\n").text, "a b");
  EXPECT_FALSE(run(StripSpace{true, false}, " a").atStart);
  EXPECT_TRUE(run(StripSpace{false, true}, "a ").atStart);
  EXPECT_EQ(run(Nmt{}, "a\u0001\tb\u200b").text, "a b ");
  EXPECT_EQ(run(Prepend{"\u2581"}, "a").text, "\u2581a");
  EXPECT_EQ(run(Prepend{"\u2581"}, "").text, "");
  EXPECT_EQ(run(BytesToCharacters{}, "\u00e9 ").text, "\u00c3\u00a9\u0120");
  EXPECT_EQ(run(BertNormalizer{}, "\u00c9\u4e2d").text, "e \u4e2d ");
  EXPECT_EQ(run(BertNormalizer{}, "Ab\t\u0001c\n").text, "ab c ");
  // Marks that stay get their order, over a control that goes.
  EXPECT_EQ(run(BertNormalizer{}, "a\u302e\u0001\U0001d165").text, "a\U0001d165\u302e");
}

TEST(Normalizer, Replaces) {
  EXPECT_EQ(run(Replace{"''", {}, "\""}, "a''''b").text, "a\"\"b");
  NormalizedText spaces = run(Replace{"", Regex("t", " {2,}"), " "}, "  a   b ");
  EXPECT_EQ(spaces.text, " a b ");
  EXPECT_FALSE(spaces.atStart); // the space stands for the second one
  EXPECT_TRUE(run(Replace{" ", {}, "\u2581"}, " a").atStart);
}

/// A charsmap of single-byte and longer keys: a double array that a small search fills.
std::string charsmap(const std::vector<std::pair<std::string, std::string>> &rules) {
  struct Node {
    std::map<unsigned char, size_t> next;
    std::optional<uint32_t> value;
  };
  std::vector<Node> nodes(1);
  std::string texts;
  for (const auto &[key, text] : rules) {
    size_t node = 0;
    for (char c : key) {
      auto [found, isNew] =
          nodes[node].next.try_emplace(static_cast<unsigned char>(c), nodes.size());
      node = found->second;
      if (isNew)
        nodes.emplace_back();
    }
    nodes[node].value = static_cast<uint32_t>(texts.size());
    texts += text + '\0';
  }
  // Each node has 256 units of its own; unit 256 * (node + 1) holds its value.
  std::vector<uint32_t> units(256 * (nodes.size() + 1));
  auto unit = [](size_t from, size_t to, bool ends) {
    return static_cast<uint32_t>((from ^ to) << 10 | (ends ? 256 : 0));
  };
  units[0] = unit(0, 256, false);
  for (size_t i = 0; i < nodes.size(); ++i) {
    size_t base = 256 * (i + 1);
    if (nodes[i].value)
      units[base] = *nodes[i].value;
    for (auto [byte, child] : nodes[i].next)
      units[base ^ byte] =
          unit(base ^ byte, 256 * (child + 1), nodes[child].value.has_value()) | byte;
  }
  auto bytes = static_cast<uint32_t>(units.size() * sizeof(uint32_t));
  std::string data(sizeof(bytes), '\0');
  std::memcpy(data.data(), &bytes, sizeof(bytes));
  data.append(reinterpret_cast<const char *>(units.data()), bytes);
  return data + texts;
}

TEST(Normalizer, PrecompiledCharsmap) {
  auto map = std::make_shared<Charsmap>(
      "t", charsmap({{"\t", " "}, {"\u200b", ""}, {"e\u0301", "\u00e9"}, {"\ufb01", "fi"}}));
  auto normalized = [&](const std::string &text) { return run(Precompiled{map}, text).text; };
  EXPECT_EQ(normalized("a\tb\u200bc"), "a bc");
  EXPECT_EQ(normalized("e\u0301t\u00e9"), "\u00e9t\u00e9");
  EXPECT_EQ(normalized("\ufb01x"), "fix");
  EXPECT_EQ(normalized("\ufb01\u0301"), "fi"); // a key that starts a cluster takes it all
  EXPECT_EQ(normalized("\ufb01\u0301\u0301"), "fi\u0301\u0301"); // but not a long one
}

TEST(Normalizer, DamagedCharsmaps) {
  expectContains(errorOf([] { Charsmap("t.json: map", "abc"); }), {"t.json: map: ", "4 bytes"});
  std::string data = charsmap({{"a", "b"}});
  expectContains(errorOf([&] { Charsmap("t", data.substr(0, 100)); }), {"array of"});
  expectContains(errorOf([&] { Charsmap("t", data + "\xFF"); }), {"UTF-8"});
  for (size_t i = 4; i < data.size(); i += 3) { // wherever they point, within bounds
    std::string damaged = data;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x5A);
    if (!isUtf8(damaged.substr(data.size() - 2)))
      continue;
    std::string out;
    Charsmap("t", damaged).normalize("abcab\u00e9", out);
    EXPECT_TRUE(isUtf8(out));
  }
  EXPECT_EQ(decodeBase64("aGVsbG8="), "hello");
  EXPECT_FALSE(decodeBase64("a*"));
}

TEST(Utf8, Validity) {
  for (const char *valid : {"", "a", "\u00e9", "\uffff", "\U0010ffff", "12345678\u00e9"})
    EXPECT_TRUE(isUtf8(valid)) << valid;
  for (const char *bad : {"\x80", "\xC0\xAF", "\xE2\x82", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                          "\xFF", "12345678\xC3", "\xF0\x8F\xBF\xBF"})
    EXPECT_FALSE(isUtf8(bad)) << bad;
  std::string storage;
  EXPECT_EQ(validUtf8("a\xE2\x82z", storage), "a\uFFFDz");
  std::string text = "a\u00e9\u4e2d\U0001F600";
  std::u32string forwards, backwards;
  for (size_t at = 0; at < text.size();)
    forwards += nextCharacter(text, at);
  for (size_t at = text.size(); at > 0;)
    backwards.insert(backwards.begin(), previousCharacter(text, at));
  EXPECT_EQ(forwards, decodeUtf8(text));
  EXPECT_EQ(backwards, forwards);
}

} // namespace
