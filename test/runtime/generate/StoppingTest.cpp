#include "runtime/generate/Stopping.h"
#include "test/runtime/TestSupport.h"

using namespace transformer::runtime;

namespace {

/// Whether tokens, given as their texts, end with a stop string.
bool stops(const std::string &strings, const std::vector<std::string> &texts) {
  GenerationConfig config = GenerationConfig::parse("c", "{\"stop_strings\": " + strings + "}");
  Stopping stopping(config,
                    [&](int64_t token) -> std::string_view { return texts[size_t(token)]; });
  std::vector<int64_t> tokens;
  for (size_t i = 0; i < texts.size(); ++i)
    tokens.push_back(int64_t(i));
  return stopping(tokens, 100);
}

// The examples of transformers' StopStringCriteria.
TEST(Stopping, StopStrings) {
  using Texts = std::vector<std::string>;
  for (const Texts &texts : {Texts{"st", "op"}, Texts{"stop"}, Texts{"st", "opera"},
                             Texts{"sto", "pper"}, Texts{"las", "topper"}, Texts{"s", "to", "pped"},
                             Texts{"x", "unstoppable"}, Texts{"s", "t", "o", "p"}})
    EXPECT_TRUE(stops("\"stop\"", texts)) << texts[0];
  for (const Texts &texts : {Texts{"stop", "at"}, Texts{"st", "op", "at"},
                             Texts{"st", "opera", "tion"}, Texts{"s", "top", ""}, Texts{"sto"}})
    EXPECT_FALSE(stops("\"stop\"", texts)) << texts[0];
  EXPECT_TRUE(stops("[\"END\", \"\\n\"]", {"a", " \n"}));
  EXPECT_FALSE(stops("[\"END\", \"\\n\"]", {"a\n", "EN"}));
  EXPECT_TRUE(stops("\"\u00e9t\u00e9\"", {"\xC3", "\xA9t", "\xC3\xA9"})); // inside characters
  EXPECT_TRUE(stops("\"aab\"", {"aa", "ab"}));
}

TEST(Stopping, EndsAndLengths) {
  Stopping stopping(GenerationConfig::parse("c", R"({"eos_token_id": [2, 3]})"));
  EXPECT_TRUE(stopping(std::vector<int64_t>{1, 3}, 9));
  EXPECT_FALSE(stopping(std::vector<int64_t>{3, 1}, 9));
  EXPECT_TRUE(stopping(std::vector<int64_t>{3, 1}, 2));
}

TEST(Stopping, StopStringsNeedATokenizer) {
  GenerationConfig config = GenerationConfig::parse("c", R"({"stop_strings": "."})");
  expectContains(errorOf([&] { Stopping stopping(config); }), {"stop_strings", "tokenizer"});
}

} // namespace
