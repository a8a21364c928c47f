#include "runtime/text/SentencePieceFile.h"
#include "runtime/text/Tokenizer.h"
#include "test/runtime/TestSupport.h"
#include "test/runtime/text/ModelProto.h"

using namespace transformer::runtime;
using Ids = std::vector<int64_t>;

namespace {

const std::string mark = "\u2581";

/// T5's order: <pad>, </s>, <unk>, then pieces from id 3 on.
ModelProto t5() {
  ModelProto model;
  model.piece("<pad>", 0, ModelProto::Control).piece("</s>", 0, ModelProto::Control);
  model.piece("<unk>", 0, ModelProto::Unknown).piece(mark, -3).piece("a", -4).piece("b", -5);
  model.piece(mark + "ab", -2).piece("abb", -1, ModelProto::Unused);
  model.piece("<user>", 0, ModelProto::UserDefined);
  return model;
}

std::string errorIn(const std::string &bytes) {
  return errorOf([&] { readSentencePieceFile("m.model", bytes); });
}

TEST(SentencePieceFile, Reads) {
  ModelProto model = t5();
  model.trainer(3, 2).trainer(35, 1).trainer(43, ~uint64_t(0)).normalizer(3, 0).normalizer(4, 0);
  model.file.bytes(3, WireWriter().bytes(2, "map").text).bytes(200, "an extension").real(201, 1);
  SentencePieceFile file = readSentencePieceFile("m", model.file.text);
  ASSERT_EQ(file.pieces.size(), 9u);
  EXPECT_EQ(file.pieces[6].text, mark + "ab");
  EXPECT_EQ(file.pieces[6].score, -2);
  EXPECT_EQ(file.pieces[8].type, SentencePieceFile::UserDefined);
  EXPECT_EQ(file.unknown, 2u);
  EXPECT_EQ(file.modelType, SentencePieceFile::Bpe);
  EXPECT_TRUE(file.byteFallback);
  EXPECT_FALSE(file.addDummyPrefix);
  EXPECT_FALSE(file.removeExtraWhitespaces);
  EXPECT_EQ(file.charsmap, "map");
  SentencePieceFile plain = readSentencePieceFile("m", t5().file.text);
  EXPECT_EQ(plain.modelType, SentencePieceFile::Unigram);
  EXPECT_TRUE(plain.addDummyPrefix && plain.removeExtraWhitespaces && !plain.byteFallback);
}

TEST(SentencePieceFile, EveryCutIsAnErrorOrAModel) {
  std::string whole = t5().trainer(3, 1).file.text;
  for (size_t size = 0; size < whole.size(); ++size)
    try {
      readSentencePieceFile("m.model", whole.substr(0, size));
    } catch (const Error &error) {
      expectContains(error.what(), {"m.model: "});
    }
}

TEST(SentencePieceFile, Damaged) {
  expectContains(errorIn(""), {"m.model: ", "no pieces"});
  expectContains(errorIn("{\"a\": 1}"), {"m.model: "});
  expectContains(errorIn(WireWriter().varint(1 << 3 | 2).varint(~uint64_t(0)).text),
                 {"m.model: expected 18446744073709551615 bytes of field 1, found 0"});
  expectContains(errorIn(std::string(20, '\xFF')), {"m.model: a number without an end"});
  expectContains(errorIn(WireWriter().varint(1 << 3 | 3).text), {"m.model: ", "wire type", "3"});
  expectContains(errorIn(WireWriter().number(1, 7).text),
                 {"m.model: pieces[0]: expected bytes, found wire type 0"});
  expectContains(errorIn(WireWriter().bytes(1, WireWriter().bytes(1, "a").number(2, 1).text).text),
                 {"m.model: pieces[0].score: expected a float"});
  for (float bad : {NAN, INFINITY, -INFINITY})
    expectContains(errorIn(t5().piece("x", bad).file.text),
                   {"m.model: pieces[9].score: expected a finite number"});
  expectContains(errorIn(t5().piece("x", 0, 7).file.text),
                 {"m.model: pieces[9].type: expected a number from 1 to 6, found 7"});
  expectContains(errorIn(t5().piece("").file.text), {"m.model: pieces[9].piece: expected text"});
  expectContains(errorIn(t5().piece("\xC3").file.text), {"m.model: pieces[9].piece: ", "UTF-8"});
  expectContains(errorIn(t5().piece("b").file.text), {"m.model: pieces[9]: \"b\" is pieces[5]"});
  expectContains(errorIn(t5().piece("?", 0, ModelProto::Unknown).file.text),
                 {"m.model: pieces[9]: the unknown piece is pieces[2]"});
  expectContains(errorIn(ModelProto().piece("a").file.text), {"m.model: ", "UNKNOWN"});
}

TEST(SentencePieceFile, WhatIsNotSupportedIsNamed) {
  expectContains(errorIn(t5().trainer(3, 3).file.text), {"trainer_spec.model_type: word"});
  expectContains(errorIn(t5().trainer(3, 4).file.text), {"trainer_spec.model_type: char"});
  expectContains(errorIn(t5().trainer(24, 1).file.text), {"treat_whitespace_as_suffix"});
  expectContains(errorIn(t5().normalizer(5, 0).file.text), {"escape_whitespaces"});
  std::string map = WireWriter().bytes(2, "map").text;
  expectContains(errorIn(t5().file.bytes(5, map).text), {"denormalizer_spec"});
}

TEST(SentencePiece, T5) {
  TemporaryFolder folder;
  folder.write("spiece.model", t5().file.text);
  expectContains(errorOf([&] { Tokenizer::open(folder.path()); }), {"needs tokenizer_class"});
  folder.write("config.json", R"({"model_type": "t5"})");
  Tokenizer tokenizer = Tokenizer::open(folder.path());
  EXPECT_EQ(tokenizer.encode("ab  b").ids, (Ids{6, 3, 5, 1}));
  EXPECT_EQ(tokenizer.encode("abb").ids, (Ids{6, 5, 1})); // "abb" is not used
  EXPECT_EQ(tokenizer.encode("xy a").ids, (Ids{3, 2, 3, 4, 1}));
  EXPECT_EQ(tokenizer.encode("a<extra_id_0><user></s>").ids, (Ids{3, 4, 108, 8, 1, 1}));
  EXPECT_EQ(tokenizer.encodePair("ab", "ab").ids, (Ids{6, 1, 6, 1}));
  EXPECT_EQ(tokenizer.decode({6, 3, 5, 8, 108, 1}), "ab b<user>");
  EXPECT_EQ(tokenizer.padId(), 0);
  folder.write("tokenizer_config.json",
               R"({"tokenizer_class": "T5TokenizerFast", "extra_ids": 2})");
  EXPECT_EQ(Tokenizer::open(folder.path("spiece.model")).encode("<extra_id_1>").ids, (Ids{9, 1}));
  folder.write("tokenizer_config.json", R"({"tokenizer_class": "PegasusTokenizer"})");
  expectContains(errorOf([&] { Tokenizer::open(folder.path()); }),
                 {"tokenizer_config.json", "\"PegasusTokenizer\" is not supported", "T5Tokenizer"});
  folder.write("tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizer"})");
  expectContains(errorOf([&] { Tokenizer::open(folder.path()); }),
                 {"tokenizer.model: LlamaTokenizer needs this file"});
  folder.write("tokenizer.model", t5().file.text);
  expectContains(errorOf([&] { Tokenizer::open(folder.path()); }),
                 {"tokenizer.model: ", "LlamaTokenizer needs bpe"});
}

TEST(SentencePiece, ControlsAreNoPlainText) {
  ModelProto model = t5();
  model.piece("</", -1).piece("s>", -1);
  TemporaryFolder folder;
  folder.write("spiece.model", model.file.text);
  folder.write("tokenizer_config.json",
               R"({"tokenizer_class": "T5Tokenizer", "eos_token": "a", "extra_ids": 0,
                   "additional_special_tokens": []})");
  EXPECT_EQ(Tokenizer::open(folder.path()).encode("</s>").ids, (Ids{3, 9, 10, 4}));
}

TEST(SentencePiece, Albert) {
  ModelProto model;
  model.piece("<pad>", 0, ModelProto::Control).piece("<unk>", 0, ModelProto::Unknown);
  model.piece("[CLS]", 0, ModelProto::Control).piece("[SEP]", 0, ModelProto::Control);
  model.piece(mark, -3).piece("e", -4).piece("E", -4).piece("\"", -4).piece("[MASK]", 0, 4);
  TemporaryFolder folder;
  folder.write("spiece.model", model.file.text);
  folder.write("config.json", R"({"model_type": "albert"})");
  Tokenizer tokenizer = Tokenizer::open(folder.path());
  EXPECT_EQ(tokenizer.encode("\u00C9 ``[MASK]").ids, (Ids{2, 4, 5, 4, 7, 8, 3}));
  EXPECT_EQ(tokenizer.encodePair("e", "e").types, (Ids{0, 0, 0, 0, 1, 1, 1}));
  folder.write("tokenizer_config.json", R"({"do_lower_case": false})");
  EXPECT_EQ(Tokenizer::open(folder.path()).encode("E").ids, (Ids{2, 4, 6, 3}));
}

TEST(SentencePiece, Llama) {
  ModelProto model;
  model.piece("<unk>", 0, ModelProto::Unknown).piece("<s>", 0, ModelProto::Control);
  model.piece("</s>", 0, ModelProto::Control);
  for (int byte = 0; byte < 256; ++byte)
    model.piece(formatted("<0x{:02X}>", byte), 0, ModelProto::Byte);
  model.piece("ab", -0.0F).piece("abc", -1).piece("bc", -2).piece(mark + "a", -3);
  model.piece(mark, -4).piece("a", -5).piece("b", -6).piece("c", -7).trainer(3, 2).trainer(35, 1);
  TemporaryFolder folder;
  folder.write("tokenizer.model", model.file.text);
  folder.write("tokenizer_config.json",
               R"({"tokenizer_class": "LlamaTokenizer", "add_bos_token": true})");
  Tokenizer tokenizer = Tokenizer::open(folder.path());
  EXPECT_EQ(tokenizer.encode("abc").ids, (Ids{1, 263, 260}));
  EXPECT_EQ(tokenizer.encode("bca \u00E9").ids, (Ids{1, 263, 261, 264, 263, 3 + 0xC3, 3 + 0xA9}));
  EXPECT_EQ(tokenizer.encode("</s>a").ids, (Ids{1, 2, 264})); // no space in front behind a token
  EXPECT_EQ(tokenizer.decode({1, 263, 260, 263, 3 + 0xC3, 3 + 0xA9}), "abc \u00E9");
  EXPECT_EQ(tokenizer.encodePair("a", "a").ids, (Ids{1, 262, 1, 262}));
}

TEST(SentencePiece, Marian) {
  ModelProto model;
  model.piece("<unk>", 0, ModelProto::Unknown).piece("<s>", 0, ModelProto::Control);
  model.piece(mark, -3).piece(mark + "ab", -2).piece("a", -4).piece("b", -5).piece("c", -5);
  model.piece("<u>", 0, ModelProto::UserDefined);
  std::string vocab =
      "{\"</s>\": 0, \"<unk>\": 1, \"\u2581ab\": 2, \"b\": 3, \"\u2581\": 4, \"<u>\": 5,"
      " \"yz\": 6, \">>fr<<\": 7, \"\u2581foo\": 8, \"<pad>\": 9}";
  TemporaryFolder folder;
  folder.write("source.spm", model.file.text);
  expectContains(errorOf([&] { Tokenizer::open(folder.path()); }),
                 {"vocab.json: MarianTokenizer needs this file"});
  folder.write("vocab.json", vocab);
  Tokenizer tokenizer = Tokenizer::open(folder.path());
  EXPECT_EQ(tokenizer.encode("  ab   b ").ids, (Ids{2, 4, 3, 0}));
  EXPECT_EQ(tokenizer.encode("abc x").ids, (Ids{2, 1, 4, 1, 0})); // "c" has no id
  EXPECT_EQ(tokenizer.encode("yz").ids, (Ids{4, 6, 0})); // unknown to the model, not to vocab.json
  EXPECT_EQ(tokenizer.encode("a<u>b").ids, (Ids{4, 1, 5, 3, 0}));
  EXPECT_EQ(tokenizer.encode(">>fr<< ab").ids, (Ids{7, 2, 0}));
  EXPECT_EQ(tokenizer.encode(">>xx<<ab").ids, (Ids{1, 2, 0}));
  EXPECT_EQ(tokenizer.encode("ab</s>ab").ids, (Ids{2, 0, 2, 0}));
  EXPECT_EQ(tokenizer.encode("").ids, (Ids{0}));
  EXPECT_EQ(tokenizer.encode(" ").ids, (Ids{0}));
  EXPECT_EQ(tokenizer.decode({4, 2, 3, 8, 4, 0}), "abb foo");
  EXPECT_EQ(tokenizer.decode({2, 0, 2, 0, 8}, /*skipSpecial=*/false), "ab</s> ab</s>  foo");
  EXPECT_EQ(tokenizer.padId(), 9);
  ModelProto targets; // cuts other pieces, which have the same ids
  targets.piece("<unk>", 0, ModelProto::Unknown).piece(mark, -3).piece("b", -5);
  Tokenizer ofTargets = Tokenizer::open(folder.write("target.spm", targets.file.text));
  EXPECT_EQ(ofTargets.encode("ab b").ids, (Ids{4, 1, 3, 4, 3, 0}));
  folder.write("tokenizer_config.json", R"({"separate_vocabs": true})");
  expectContains(errorOf([&] { Tokenizer::open(folder.path()); }), {"separate_vocabs"});
}

TEST(SentencePiece, CarriedByAProgram) {
  std::string text = R"({"files": {"spiece.model": "CgUKAWEQAQ==", "config.json": "{}"}})";
  expectContains(errorOf([&] { Tokenizer::parse("p", text); }),
                 {"p: files: tokenizer_config.json"});
  text = R"({"files": {"spiece.model": "?", "config.json": "{}"}})";
  expectContains(errorOf([&] { Tokenizer::parse("p", text); }),
                 {"p: files.spiece.model: expected base64"});
  text = R"({"files": {"spiece.model": "CgMKAWE=", "config.json": "{\"model_type\": \"t5\"}"}})";
  expectContains(errorOf([&] { Tokenizer::parse("p", text); }),
                 {"p: files: spiece.model: no piece has the type UNKNOWN"});
}

TEST(SentencePiece, Files) {
  TemporaryFolder folder;
  expectContains(errorOf([&] { Tokenizer::open(folder.path()); }),
                 {"no tokenizer.json, vocab.txt, spiece.model, source.spm, sentencepiece.bpe.model "
                  "or tokenizer.model in this folder"});
  EXPECT_FALSE(Tokenizer::isIn(folder.path()));
  folder.write("spiece.model", t5().file.text);
  folder.write("config.json", R"({"model_type": "t5"})");
  EXPECT_TRUE(Tokenizer::isIn(folder.path()));
  folder.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nab\n");
  EXPECT_EQ(Tokenizer::open(folder.path()).encode("ab").ids, (Ids{2, 5, 3}));
  EXPECT_EQ(Tokenizer::open(folder.path("spiece.model")).encode("ab").ids, (Ids{6, 1}));
  EXPECT_EQ(
      Tokenizer::open(folder.path("spiece.model")).encode(std::string(1 << 20, 'a')).ids.size(),
      (1u << 20) + 2);
}

} // namespace
