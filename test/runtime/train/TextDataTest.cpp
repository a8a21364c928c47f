#include "runtime/train/TextData.h"
#include "test/runtime/TestSupport.h"

using namespace transformer::runtime;

namespace {

using Ids = std::vector<int64_t>;

// [PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, [MASK] 4, a 5, b 6, c 7, d 8
Tokenizer wordPiece() {
  return Tokenizer::parse("words",
                          R"({"vocab": "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\nd"})");
}

/// A tokenizer of the same words with `template` around them, a list of tokenizer.json's.
Tokenizer surrounded(const std::string &parts) {
  return Tokenizer::parse("words", formatted(R"({{
    "model": {{"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
      "max_input_chars_per_word": 100, "vocab": {{"[PAD]": 0, "[UNK]": 1, "<s>": 2, "</s>": 3,
      "[MASK]": 4, "a": 5, "b": 6, "c": 7, "d": 8}}}},
    "pre_tokenizer": {{"type": "WhitespaceSplit"}},
    "post_processor": {{"type": "TemplateProcessing", "single": [{}], "pair": [],
      "special_tokens": {{"<s>": {{"id": "<s>", "ids": [2], "tokens": ["<s>"]}},
                         "</s>": {{"id": "</s>", "ids": [3], "tokens": ["</s>"]}}}}}}}})",
                                             parts));
}

constexpr const char *textPart = R"({"Sequence": {"id": "A", "type_id": 0}})";
constexpr const char *startPart = R"({"SpecialToken": {"id": "<s>", "type_id": 0}},)";
constexpr const char *endPart = R"(,{"SpecialToken": {"id": "</s>", "type_id": 0}})";

class TextDataTest : public testing::Test {
protected:
  TextDataTest() {
    for (const char *name : {"input_ids", "attention_mask", "token_type_ids", "labels",
                             "decoder_input_ids", "decoder_attention_mask"}) {
      InputInfo info;
      info.name = name;
      info.shape = {{"batch", 0}, {"sequence", 0}};
      if (info.name.ends_with("ids"))
        info.range = ValueRange{0, info.name == "token_type_ids" ? 2 : 9};
      known[name] = info;
    }
    known["labels"].range = ValueRange{0, 9};
    known["labels"].ignored = -100;
  }

  TextData open(TextObjective objective, const std::string &text, std::vector<const char *> names) {
    std::vector<const InputInfo *> inputs;
    for (const char *name : names)
      inputs.push_back(&known[name]);
    return TextData(folder.write("data", text), objective, inputs, model, options, [](double) {});
  }

  std::map<std::string, InputInfo> known;
  TextModel model{wordPiece(), {}, {}, {}, {}};
  TextOptions options;
  TemporaryFolder folder;
};

const std::vector<const char *> ofText = {"input_ids", "attention_mask", "labels"};
const std::vector<const char *> ofTargets = {"input_ids", "attention_mask", "decoder_input_ids",
                                             "decoder_attention_mask", "labels"};

void expectIds(const TensorMap &inputs, const std::string &name, std::vector<int64_t> shape,
               const Ids &values) {
  ASSERT_TRUE(inputs.count(name)) << name;
  EXPECT_EQ(inputs.at(name).dtype(), DataType::I64) << name;
  EXPECT_EQ(inputs.at(name).shape(), shape) << name;
  EXPECT_EQ(valuesOf<int64_t>(inputs.at(name)), values) << name;
}

TEST_F(TextDataTest, NextToken) {
  TextData data = open(TextObjective::NextToken,
                       "\xEF\xBB\xBF"
                       "a\r\n\n \t\na b c\nd d\n",
                       ofText);
  ASSERT_EQ(data.steps(), 1);
  TensorMap inputs = data.inputs(0);
  EXPECT_EQ(inputs.size(), 3u);
  expectIds(inputs, "input_ids", {3, 5}, {2, 5, 6, 7, 3, 2, 8, 8, 3, 0, 2, 5, 3, 0, 0});
  expectIds(inputs, "attention_mask", {3, 5}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 0, 0});
  expectIds(inputs, "labels", {3, 5}, {2, 5, 6, 7, 3, 2, 8, 8, 3, -100, 2, 5, 3, -100, -100});
  expectContains(data.summary(), {"data: 3 rows, 12 tokens, 1 steps"});
}

TEST_F(TextDataTest, BlocksAreCutFromAllOfTheText) {
  options.blockSize = options.maxLength = 4;
  model.tokenizer = surrounded(textPart);
  std::string text = "a b c d a b\n\nc d\na a";
  TensorMap inputs = open(TextObjective::NextToken, text, {"input_ids", "labels"}).inputs(0);
  expectIds(inputs, "input_ids", {3, 4}, {5, 6, 7, 8, 5, 6, 7, 8, 5, 5, 0, 0});
  expectIds(inputs, "labels", {3, 4}, {5, 6, 7, 8, 5, 6, 7, 8, 5, 5, -100, -100});
  known["input_ids"].maxLength = 3;
  expectContains(errorOf([&] { open(TextObjective::NextToken, "a", ofText); }),
                 {"--max-length 4", "at most 3"});
  options.maxLength.reset();
  expectContains(errorOf([&] { open(TextObjective::NextToken, "a", ofText); }),
                 {"--block-size 4", "at most 3"});
}

TEST_F(TextDataTest, LinesOfBlocksKeepTheirEnds) {
  options.blockSize = 4;
  model.tokenizer = Tokenizer::parse("words", R"({
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
      "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "a": 1, "b\n": 2, "c\n": 3}},
    "pre_tokenizer": {"type": "Split", "pattern": {"String": " "}, "behavior": "Removed"}})");
  TensorMap inputs = open(TextObjective::NextToken, "a b\r\n\na c", ofText).inputs(0);
  expectIds(inputs, "input_ids", {1, 4}, {1, 2, 1, 3});
}

TEST_F(TextDataTest, MaskedToken) {
  options.maskProbability = 1;
  TextData data = open(TextObjective::MaskedToken, "a b c\nd\n", ofText);
  TensorMap inputs = data.inputs(0);
  expectIds(inputs, "attention_mask", {2, 5}, {1, 1, 1, 1, 1, 1, 1, 1, 0, 0});
  expectIds(inputs, "labels", {2, 5}, {-100, 5, 6, 7, -100, -100, 8, -100, -100, -100});
  Ids ids = valuesOf<int64_t>(inputs.at("input_ids"));
  EXPECT_EQ(ids[0], 2);
  EXPECT_EQ(Ids(ids.begin() + 7, ids.end()), (Ids{3, 0, 0}));
}

TEST_F(TextDataTest, MasksDifferByEpochAndNotByNeighbours) {
  options.batching.epochs = 2;
  std::string longer = "a b c d a b c d a b c d a b c d a b c d a b c d\n";
  auto labels = [&](const std::string &text, int64_t step) {
    Ids all =
        valuesOf<int64_t>(open(TextObjective::MaskedToken, text, ofText).inputs(step)["labels"]);
    return Ids(all.begin(), all.begin() + 26);
  };
  EXPECT_EQ(labels(longer, 0), labels(longer + "a\n", 0));
  EXPECT_NE(labels(longer, 0), labels(longer, 1));
}

TEST_F(TextDataTest, TargetToken) {
  model.generation.decoderStartTokenId = 4;
  model.generation.eosTokenId = {3};
  // An end that the tokenizer adds, and one that it does not.
  for (const char *end : {endPart, ""}) {
    model.tokenizer = surrounded(std::string(textPart) + end);
    TensorMap inputs = open(TextObjective::TargetToken, "a b\tc d\nc\tb\n", ofTargets).inputs(0);
    EXPECT_EQ(inputs.size(), 5u);
    expectIds(inputs, "decoder_input_ids", {2, 3}, {4, 7, 8, 4, 6, 0});
    expectIds(inputs, "labels", {2, 3}, {7, 8, 3, 6, 3, -100});
    expectIds(inputs, "decoder_attention_mask", {2, 3}, {1, 1, 1, 1, 1, 0});
    if (*end)
      expectIds(inputs, "input_ids", {2, 3}, {5, 6, 3, 7, 3, 0});
    else
      expectIds(inputs, "input_ids", {2, 2}, {5, 6, 7, 0});
  }
}

// <s> a </s> of BART is a target of a decoder that starts with </s>; what starts with <s> is given
// the one that the tokenizer adds.
TEST_F(TextDataTest, TargetsThatBeginWithASpecialToken) {
  model.tokenizer = surrounded(std::string(startPart) + textPart + endPart);
  model.generation.eosTokenId = {3};
  model.generation.decoderStartTokenId = 3;
  TensorMap bart = open(TextObjective::TargetToken, "a\tb", ofTargets).inputs(0);
  expectIds(bart, "decoder_input_ids", {1, 3}, {3, 2, 6});
  expectIds(bart, "labels", {1, 3}, {2, 6, 3});
  model.generation.decoderStartTokenId.reset();
  model.generation.bosTokenId = 2;
  TensorMap native = open(TextObjective::TargetToken, "a\tb", ofTargets).inputs(0);
  expectIds(native, "decoder_input_ids", {1, 2}, {2, 6});
  expectIds(native, "labels", {1, 2}, {6, 3});
}

TEST_F(TextDataTest, CutRowsKeepTheirEnds) {
  model.tokenizer = surrounded(textPart);
  model.generation.bosTokenId = 2;
  model.generation.eosTokenId = {3};
  options.maxLength = 3;
  TextData data = open(TextObjective::TargetToken, "a b c d\ta b c d\n", ofTargets);
  TensorMap inputs = data.inputs(0);
  expectIds(inputs, "input_ids", {1, 3}, {5, 6, 7});
  expectIds(inputs, "decoder_input_ids", {1, 3}, {2, 5, 6});
  expectIds(inputs, "labels", {1, 3}, {5, 6, 3});
  expectContains(data.summary(), {"1 rows were too long and have been cut to 3 tokens"});
}

TEST_F(TextDataTest, LimitsThatAreKnown) {
  auto length = [&] {
    return open(TextObjective::NextToken, "a b c d a b c d", ofText)
        .inputs(0)["input_ids"]
        .shape()[1];
  };
  EXPECT_EQ(length(), 10);
  model.maxLength = 7;
  EXPECT_EQ(length(), 7);
  known["input_ids"].maxLength = 5;
  EXPECT_EQ(length(), 5);
  options.maxLength = 4;
  EXPECT_EQ(length(), 4);
}

TEST_F(TextDataTest, ClassesOfPairsAndTexts) {
  known["labels"].shape = {{"batch", 0}};
  known["labels"].range = ValueRange{0, 3};
  model.classes = {{"no", 0}, {"yes", 2}};
  TensorMap inputs =
      open(TextObjective::Class, "a b\tc\tyes\na\t1\n", {"input_ids", "token_type_ids", "labels"})
          .inputs(0);
  expectIds(inputs, "input_ids", {2, 6}, {2, 5, 6, 3, 7, 3, 2, 5, 3, 0, 0, 0});
  expectIds(inputs, "token_type_ids", {2, 6}, {0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0});
  expectIds(inputs, "labels", {2}, {2, 1});
  for (const char *label : {"3", "-1", "maybe", "1.5", ""})
    expectContains(
        errorOf([&] { open(TextObjective::Class, formatted("a\tno\n\nb\t{}\n", label), ofText); }),
        {"data: line 3: unknown label", label, "from 0 to 2 or one of no, yes"});
}

TEST_F(TextDataTest, Numbers) {
  known["labels"].shape = {{"batch", 0}, {"", 1}};
  known["labels"].dtype = DataType::F32;
  known["labels"].range.reset();
  TensorMap inputs = open(TextObjective::Regression, "a b\t-0.25\na\t1e2\n", ofText).inputs(0);
  EXPECT_EQ(inputs.at("labels").dtype(), DataType::F32);
  EXPECT_EQ(inputs.at("labels").shape(), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(valuesOf<float>(inputs.at("labels")), (std::vector<float>{-0.25f, 100}));
  for (const char *label : {"nan", "inf", "1x", ""})
    expectContains(
        errorOf([&] { open(TextObjective::Regression, formatted("a\t{}", label), ofText); }),
        {"line 1: expected a number", label});
}

TEST_F(TextDataTest, BadFiles) {
  model.generation.bosTokenId = 2;
  auto error = [&](TextObjective objective, const std::string &text) {
    return errorOf([&] { open(objective, text, ofTargets); });
  };
  expectContains(error(TextObjective::NextToken, ""), {"data: expected lines of text, found none"});
  expectContains(error(TextObjective::NextToken, "\n \n"), {"found none"});
  expectContains(error(TextObjective::NextToken, "a\nb\xFF\n"), {"data: line 2: not UTF-8"});
  expectContains(error(TextObjective::TargetToken, "a\tb\na b\n"),
                 {"data: line 2: expected SOURCE<TAB>TARGET, found 0 TABs"});
  expectContains(error(TextObjective::TargetToken, "a\tb\tc\n"), {"line 1:", "found 2 TABs"});
  expectContains(error(TextObjective::Class, "a\n"), {"TEXT<TAB>LABEL", "found 0 TABs"});
  model.tokenizer = surrounded(textPart);
  expectContains(error(TextObjective::TargetToken, "\tb\n"), {"line 1: no tokens before"});
  expectContains(error(TextObjective::TargetToken, "b\t\n"), {"line 1: no tokens behind"});
  known["input_ids"].range->high = 8;
  expectContains(error(TextObjective::NextToken, "a\nb d\n"),
                 {"line 2: the tokenizer gives the id 8, input_ids of this model takes 0 to 7"});
}

// Of a file that several threads read in parts: the first bad line.
TEST_F(TextDataTest, NamesTheFirstBadLineOfALargeFile) {
  std::string text;
  for (int i = 0; i < 300000; ++i)
    text += i == 250000 || i == 290000 ? "\xFF\n" : "a b\n";
  expectContains(errorOf([&] { open(TextObjective::NextToken, text, ofText); }),
                 {"data: line 250001: not UTF-8"});
}

TEST(TextObjective, NamesAndEndings) {
  EXPECT_EQ(textObjective("masked_token", "x.txt"), TextObjective::MaskedToken);
  EXPECT_EQ(textObjective("regression", "x.tsv"), TextObjective::Regression);
  expectContains(errorOf([] { textObjective("class", "x.txt"); }), {"x.txt", "class", ".tsv file"});
  expectContains(errorOf([] { textObjective("", "x.txt"); }), {"x.txt", "safetensors"});
  for (const char *name : {"token_class", "multi_label", "span", "next_sentence", "replaced_token"})
    expectContains(errorOf([&] { textObjective(name, "x.tsv"); }), {name, "safetensors"});
}

} // namespace
