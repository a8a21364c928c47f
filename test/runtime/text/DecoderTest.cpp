#include "runtime/text/TextStream.h"
#include "test/runtime/TestSupport.h"

#include <nlohmann/json.hpp>

using namespace transformer::runtime;
using Ids = std::vector<int64_t>;
using Tokens = std::vector<std::string>;

namespace {

std::string decode(const DecoderStep &step, const Tokens &tokens) {
  return Decoder{{step}}.apply(tokens);
}

TEST(Decoder, Steps) {
  EXPECT_EQ(decode(CharactersToBytes{}, {"\u0120caf\u00c3", "\u00a9"}), " caf\u00e9");
  EXPECT_EQ(decode(CharactersToBytes{}, {"\u00c3", "x"}), "\uFFFDx");
  EXPECT_EQ(decode(CharactersToBytes{}, {"\u4e2d"}), "\u4e2d"); // no byte's: as it is
  EXPECT_EQ(decode(JoinWordPieces{}, {"un", "##aff", ".", "do", "not"}), "unaff. do not");
  EXPECT_EQ(decode(JoinWordPieces{"##", false}, {"a", "."}), "a .");
  EXPECT_EQ(decode(Metaspace{"\u2581"}, {"\u2581a", "\u2581b"}), "a b");
  EXPECT_EQ(decode(Metaspace{"\u2581", Metaspace::Never}, {"\u2581a"}), " a");
  EXPECT_EQ(decode(StripCharacter{' ', 1, 0}, {"  a", " b"}), " ab");
  EXPECT_EQ(decode(StripCharacter{' ', 0, 2}, {"a   "}), "a ");
  EXPECT_EQ(decode(JoinBytes{}, {"<0xC3>", "<0xA9>", "x"}), "\u00e9x");
  EXPECT_EQ(decode(JoinBytes{}, {"<0xC3>", "<0xC3>", "x"}), "\uFFFD\uFFFDx");
  EXPECT_EQ(decode(Replace{"\u2581", {}, " "}, {"\u2581a\u2581"}), " a ");
  EXPECT_EQ(decode(WordSuffix{}, {"a</w>", "b</w>"}), "a b");
  EXPECT_EQ(decode(Ctc{"<pad>", "|", true}, {"a", "a", "<pad>", "a", "|"}), "aa ");
}

Tokenizer byteLevel() {
  nlohmann::json vocab = {{"<s>", 0}, {"\u00c3", 1}, {"\u00a9", 2}, {"\u0120a", 3}, {"b", 4}};
  nlohmann::json json = {
      {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", nlohmann::json::array()}}},
      {"decoder", {{"type", "ByteLevel"}}},
      {"added_tokens", {{{"id", 0}, {"content", "<s>"}, {"special", true}}}}};
  return Tokenizer::parse("t", json.dump());
}

TEST(Decoder, OfATokenizer) {
  Tokenizer tokenizer = byteLevel();
  EXPECT_EQ(tokenizer.decode({0, 4, 3, 99, -1}), "b a");
  EXPECT_EQ(tokenizer.decode({0, 4}, /*skipSpecial=*/false), "<s>b");
  EXPECT_EQ(tokenizer.decode({}), "");
  EXPECT_EQ(tokenizer.idOf("<s>"), 0);
  EXPECT_EQ(tokenizer.idOf("none"), -1);
}

TEST(TextStream, TellsWholeCharacters) {
  Tokenizer tokenizer = byteLevel();
  TextStream stream(tokenizer);
  EXPECT_EQ(stream.add(4), "b");
  EXPECT_EQ(stream.add(1), "");
  EXPECT_EQ(stream.add(2), "\u00e9");
  EXPECT_EQ(stream.add(0), ""); // special
  EXPECT_EQ(stream.add(3), " a");
  EXPECT_EQ(stream.add(1), "");
  EXPECT_EQ(stream.finish(), "\uFFFD");
  EXPECT_EQ(stream.add(4), "b");
}

TEST(TextStream, CharactersAcrossAllTokens) {
  nlohmann::json json = {{"model",
                          {{"type", "BPE"},
                           {"vocab", {{"\u00c3", 0}, {"\u00a9\u00c3", 1}, {"\u00a9", 2}}},
                           {"merges", nlohmann::json::array()}}},
                         {"decoder", {{"type", "ByteLevel"}}}};
  Tokenizer tokenizer = Tokenizer::parse("t", json.dump());
  TextStream stream(tokenizer);
  EXPECT_EQ(stream.add(0), "");
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(stream.add(1), "\u00e9");
  EXPECT_EQ(stream.add(2), "\u00e9");
}

TEST(TextStream, SpacesBetweenWords) {
  auto json = nlohmann::json::parse(R"({
    "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["▁a", -1], ["b", -1]]},
    "decoder": {"type": "Metaspace", "replacement": "▁"}})");
  Tokenizer tokenizer = Tokenizer::parse("t", json.dump());
  TextStream stream(tokenizer);
  EXPECT_EQ(stream.add(1), "a");
  EXPECT_EQ(stream.add(1), " a");
  EXPECT_EQ(stream.add(2), "b");
  EXPECT_EQ(stream.finish(), "");
}

TEST(TextStream, WhatIsNoUtf8IsToldAllTheSame) {
  Tokenizer tokenizer = byteLevel();
  TextStream stream(tokenizer);
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += stream.add(2);
  text += stream.finish();
  EXPECT_EQ(text, tokenizer.decode(Ids(1000, 2)));
}

} // namespace
