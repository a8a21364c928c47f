#include "runtime/text/Tokenizer.h"
#include "test/runtime/TestSupport.h"

#include <nlohmann/json.hpp>

using namespace transformer::runtime;
using Ids = std::vector<int64_t>;

namespace {

// Ids:                       0      1      2      3      4      5   6    7    8  9  10
const char *const vocab = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##aff\n##able\n,\nhello\ncafe\n";

nlohmann::json tokenizerJson() {
  return nlohmann::json::parse(R"({
    "truncation": null, "padding": null,
    "added_tokens": [
      {"id": 4, "content": "[MASK]", "special": true, "normalized": false, "lstrip": true},
      {"id": 20, "content": "Hello World", "special": false, "normalized": true},
      {"id": 21, "content": "solo", "special": false, "normalized": false, "single_word": true}],
    "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                   "strip_accents": null, "lowercase": true},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": {"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}},
                 {"Sequence": {"id": "A", "type_id": 0}},
                 {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
      "pair": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}},
               {"Sequence": {"id": "A", "type_id": 0}},
               {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
               {"Sequence": {"id": "B", "type_id": 1}},
               {"SpecialToken": {"id": "[SEP]", "type_id": 1}}],
      "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]},
                         "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]}}},
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
              "max_input_chars_per_word": 100,
              "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, "un": 5,
                        "##aff": 6, "##able": 7, ",": 8, "hello": 9, "cafe": 10, "中": 11,
                        "aa": 12, "##aa": 13}}})");
}

Tokenizer fromVocab() { return Tokenizer::parse("t", nlohmann::json{{"vocab", vocab}}.dump()); }

Tokenizer fromJson(const nlohmann::json &json) { return Tokenizer::parse("t", json.dump()); }

TEST(Tokenizer, Words) {
  Tokenizer tokenizer = fromVocab();
  EXPECT_EQ(tokenizer.encode("UNAFFABLE,hello").ids, (Ids{2, 5, 6, 7, 8, 9, 3}));
  EXPECT_EQ(tokenizer.encode("CAFÉ cafe\u0301").ids, (Ids{2, 10, 10, 3}));
  EXPECT_EQ(tokenizer.encode("unaffx").ids, (Ids{2, 1, 3}));
  EXPECT_EQ(tokenizer.encode("").ids, (Ids{2, 3}));
  EXPECT_EQ(tokenizer.encode("hel\u200Blo \xFF").ids, (Ids{2, 9, 3}));
  EXPECT_EQ(tokenizer.encode("hello[SEP][ SEP]").ids, (Ids{2, 9, 3, 1, 1, 1, 3}));
}

TEST(Tokenizer, WordsOfMoreThan100CharactersAreUnknown) {
  Tokenizer tokenizer = fromJson(tokenizerJson());
  Ids known{2, 12};
  known.insert(known.end(), 49, 13);
  known.push_back(3);
  EXPECT_EQ(tokenizer.encode(std::string(100, 'a')).ids, known);
  EXPECT_EQ(tokenizer.encode(std::string(101, 'a')).ids, (Ids{2, 1, 3}));
}

TEST(Tokenizer, ALineOfAMegabyte) {
  nlohmann::json json = tokenizerJson();
  Tokenizer tokenizer = fromJson(json);
  auto count = [&](const std::string &unit) {
    std::string text;
    while (text.size() < 1u << 20)
      text += unit;
    return tokenizer.encode(text).ids.size() - 2;
  };
  EXPECT_EQ(count("a"), 1u);
  EXPECT_EQ(count(" "), 0u);
  EXPECT_EQ(count("\u0301\u0323"), 0u);
  EXPECT_EQ(count(" [MASK]"), (1u << 20) / 7 + 1);
  EXPECT_EQ(count("aaaa "), 2 * ((1u << 20) / 5 + 1));
  EXPECT_EQ(count("\u4e2d"), (1u << 20) / 3 + 1);
  json["model"]["max_input_chars_per_word"] = 1 << 21;
  tokenizer = fromJson(json);
  EXPECT_EQ(count("a"), 1u << 19);
}

TEST(Tokenizer, ChineseCharactersAreWords) {
  EXPECT_EQ(fromJson(tokenizerJson()).encode("hello中中").ids, (Ids{2, 9, 11, 11, 3}));
}

TEST(Tokenizer, AddedTokens) {
  // New tokens follow the 14 of the vocabulary, whatever ids the file states.
  Tokenizer tokenizer = fromJson(tokenizerJson());
  EXPECT_EQ(tokenizer.encode("hello  [MASK]cafe").ids, (Ids{2, 9, 4, 10, 3}));
  EXPECT_EQ(tokenizer.encode("[mask]").ids, (Ids{2, 1, 1, 1, 3}));
  EXPECT_EQ(tokenizer.encode("HELLO world").ids, (Ids{2, 14, 3})); // found once normalised
  EXPECT_EQ(tokenizer.encode("solo, solos").ids, (Ids{2, 15, 8, 1, 3}));
}

TEST(Tokenizer, CutsToALength) {
  Tokenizer tokenizer = fromVocab();
  EXPECT_EQ(tokenizer.encode("hello hello hello", 4).ids, (Ids{2, 9, 9, 3}));
  EXPECT_EQ(tokenizer.encode("hello", 2).ids, (Ids{2, 3}));
  expectContains(errorOf([&] { tokenizer.encode("hello", 1); }), {"maximum length 1"});
  nlohmann::json json = tokenizerJson();
  json["truncation"] = {{"max_length", 3}, {"strategy", "LongestFirst"}, {"stride", 0}};
  EXPECT_EQ(fromJson(json).maxLength(), 3);
  EXPECT_EQ(fromJson(json).encode("cafe hello").ids, (Ids{2, 10, 3}));
  EXPECT_EQ(fromJson(json).encode("cafe hello", 9).ids, (Ids{2, 10, 9, 3}));
  json["truncation"]["direction"] = "Left";
  EXPECT_EQ(fromJson(json).encode("cafe hello").ids, (Ids{2, 9, 3}));
}

TEST(Tokenizer, Pairs) {
  Tokenizer tokenizer = fromVocab();
  Encoding pair = tokenizer.encodePair("hello", "cafe un");
  EXPECT_EQ(pair.ids, (Ids{2, 9, 3, 10, 5, 3}));
  EXPECT_EQ(pair.types, (Ids{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(tokenizer.encodePair("hello", "cafe cafe cafe", 6).ids, (Ids{2, 9, 3, 10, 10, 3}));
  EXPECT_EQ(tokenizer.encodePair("hello un un un", "cafe cafe cafe", 6).ids,
            (Ids{2, 9, 5, 3, 10, 3}));
}

TEST(Tokenizer, CutsWhatTheFileSays) {
  nlohmann::json json = tokenizerJson();
  json["truncation"] = {{"max_length", 6}, {"strategy", "OnlyFirst"}};
  Tokenizer tokenizer = fromJson(json);
  EXPECT_EQ(tokenizer.encodePair("hello hello cafe", "cafe").ids, (Ids{2, 9, 9, 3, 10, 3}));
  expectContains(errorOf([&] { tokenizer.encodePair("hello", "cafe cafe cafe"); }),
                 {"only the first text"});
  json["truncation"]["strategy"] = "OnlySecond";
  EXPECT_EQ(fromJson(json).encodePair("hello", "cafe cafe cafe").ids, (Ids{2, 9, 3, 10, 10, 3}));
}

TEST(Tokenizer, Decodes) {
  Tokenizer tokenizer = fromVocab();
  EXPECT_EQ(tokenizer.decode({2, 5, 6, 7, 8, 9, 3}), "unaffable, hello");
  EXPECT_EQ(tokenizer.decode({2, 9, 3}, /*skipSpecial=*/false), "[CLS] hello [SEP]");
}

TEST(Tokenizer, Cased) {
  nlohmann::json json = tokenizerJson();
  json["normalizer"]["lowercase"] = false;
  Tokenizer tokenizer = fromJson(json);
  EXPECT_EQ(tokenizer.encode("Hello hello").ids, (Ids{2, 1, 9, 3}));
  EXPECT_EQ(tokenizer.encode("café").ids, (Ids{2, 1, 3})); // null: accents stay
}

TEST(Tokenizer, Files) {
  TemporaryFolder folder;
  expectContains(errorOf([&] { Tokenizer::open(folder.path()); }), {"no tokenizer.json"});
  folder.write("vocab.txt", std::string(vocab) + "Hello\n");
  EXPECT_EQ(Tokenizer::open(folder.path()).encode("Hello").ids, (Ids{2, 9, 3}));
  folder.write("tokenizer_config.json", R"({"do_lower_case": false, "sep_token": "hello"})");
  EXPECT_EQ(Tokenizer::open(folder.path("vocab.txt")).encode("Hello").ids, (Ids{2, 11, 9}));
  folder.write("tokenizer.json", tokenizerJson().dump());
  EXPECT_EQ(Tokenizer::open(folder.path()).encode("Hello").ids, (Ids{2, 9, 3}));
}

TEST(Tokenizer, BadFiles) {
  expectContains(errorOf([] { Tokenizer::parse("t.json", "{"); }), {"t.json", "JSON"});
  expectContains(errorOf([] { Tokenizer::parse("t.json", "{}"); }), {"t.json", "model"});
  nlohmann::json json = tokenizerJson();
  json["model"]["type"] = "WordLevel";
  expectContains(errorOf([&] { fromJson(json); }),
                 {"t: model: ", "\"WordLevel\" is not supported", "BPE, Unigram or WordPiece"});
  json["model"]["type"] = "BPE";
  expectContains(errorOf([&] { fromJson(json); }), {"t: model: missing field \"merges\""});
  json["model"]["merges"] = {"un able"};
  expectContains(errorOf([&] { fromJson(json); }), {"model.merges[0]", "\"un\" and \"able\""});
  json["model"]["merges"] = {"un"};
  expectContains(errorOf([&] { fromJson(json); }), {"model.merges[0]: expected two tokens"});
  json = tokenizerJson();
  json["model"]["vocab"]["un"] = -1;
  expectContains(errorOf([&] { fromJson(json); }), {"model.vocab.un: expected an integer"});
  json = tokenizerJson();
  json["model"] = {
      {"type", "Unigram"}, {"unk_id", 3}, {"vocab", nlohmann::json::parse(R"([["a", 0.5]])")}};
  expectContains(errorOf([&] { fromJson(json); }), {"model.unk_id: expected less than the 1"});
  for (const char *part : {"normalizer", "pre_tokenizer", "post_processor", "decoder"}) {
    json = tokenizerJson();
    json[part] = {{"type", "Strange"}};
    expectContains(errorOf([&] { fromJson(json); }),
                   {formatted("t: {}: ", part), "\"Strange\" is not supported"});
  }
  json = tokenizerJson();
  json["normalizer"] = {{"type", "Precompiled"}, {"precompiled_charsmap", "a*"}};
  expectContains(errorOf([&] { fromJson(json); }),
                 {"normalizer.precompiled_charsmap: expected base64"});
  json["normalizer"] = {{"type", "Replace"}, {"pattern", {{"Regex", "("}}}, {"content", ""}};
  expectContains(errorOf([&] { fromJson(json); }), {"normalizer.pattern.Regex: "});
  json = tokenizerJson();
  json["model"]["vocab"].erase("[UNK]");
  expectContains(errorOf([&] { Tokenizer::parse("dir/t.json", json.dump()).encode("xyz"); }),
                 {"dir/t.json: ", "no unknown token \"[UNK]\""});
  expectContains(errorOf([&] { Tokenizer::parse("v", R"({"vocab": "a\nb\n"})"); }),
                 {"unk_token \"[UNK]\""});
}

} // namespace
