#include "runtime/train/MaskedTokens.h"
#include "test/runtime/TestSupport.h"

using namespace transformer::runtime;

namespace {

using Ids = std::vector<int64_t>;
constexpr int64_t pad = 0, cls = 2, sep = 3, mask = 4, ignored = -100, words = 100;

Tokenizer tokenizerOf(const std::string &mask = "[MASK]") {
  std::string vocab = "[PAD]\\n[UNK]\\n[CLS]\\n[SEP]\\n" + mask;
  for (int i = 0; i < words; ++i)
    vocab += formatted("\\nw{}", i);
  return Tokenizer::parse("words",
                          R"({"vocab": ")" + vocab + R"(", "mask_token": ")" + mask + R"("})");
}

struct Row {
  Ids ids, labels;
  bool operator==(const Row &) const = default;
};

Row masked(const MaskedTokens &tokens, Ids ids, int64_t epoch = 0, uint32_t row = 0) {
  Ids labels(ids.size(), ignored);
  tokens.apply(ids, labels, epoch, row);
  return {ids, labels};
}

Ids text(size_t length) {
  Ids ids{cls};
  for (size_t i = 0; i < length; ++i)
    ids.push_back(5 + int64_t(i) % words);
  ids.push_back(sep);
  return ids;
}

TEST(MaskedTokens, SharesOfTransformers) {
  constexpr size_t length = 100000;
  Ids ids = text(length);
  Row row = masked({tokenizerOf(), 5 + words, 0.15, 0}, ids);
  double chosen = 0, replaced = 0, random = 0, special = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (row.labels[i] == ignored) {
      EXPECT_EQ(row.ids[i], ids[i]);
      continue;
    }
    EXPECT_EQ(row.labels[i], ids[i]);
    ++chosen;
    replaced += row.ids[i] == mask;
    random += row.ids[i] != mask && row.ids[i] != ids[i];
    special += row.ids[i] < 5 && row.ids[i] != mask;
    EXPECT_LT(row.ids[i], 5 + words);
  }
  // Within five standard deviations.
  EXPECT_NEAR(chosen / length, 0.15, 0.0057);
  EXPECT_NEAR(replaced / chosen, 0.8, 0.017);
  EXPECT_NEAR(random / chosen, 0.1 * 104 / 105, 0.013);
  EXPECT_GT(special, 0); // any token may be the random one
}

TEST(MaskedTokens, SpecialTokensStay) {
  MaskedTokens all(tokenizerOf(), 5 + words, 1, 0);
  Row row = masked(all, {cls, 7, 1, pad, mask, 8, sep});
  EXPECT_EQ(row.labels, (Ids{ignored, 7, ignored, ignored, ignored, 8, ignored}));
  for (size_t i : {0, 2, 3, 4, 6})
    EXPECT_EQ(row.ids[i], (Ids{cls, 7, 1, pad, mask, 8, sep})[i]);
  EXPECT_EQ(masked({tokenizerOf(), 5 + words, 0, 0}, text(50)), (Row{text(50), Ids(52, ignored)}));
}

TEST(MaskedTokens, DependOnSeedEpochAndRow) {
  MaskedTokens tokens(tokenizerOf(), 5 + words, 0.15, 9);
  Row row = masked(tokens, text(200), 3, 5);
  EXPECT_EQ(masked(tokens, text(200), 3, 5), row);
  EXPECT_NE(masked(tokens, text(200), 4, 5), row);
  EXPECT_NE(masked(tokens, text(200), 3, 6), row);
  EXPECT_NE(masked({tokenizerOf(), 5 + words, 0.15, 10}, text(200), 3, 5), row);
}

TEST(MaskedTokens, NeedAMaskTokenOfTheModel) {
  MaskedTokens other(tokenizerOf("<mask>"), 5 + words, 1, 0);
  Row row = masked(other, text(100));
  EXPECT_GT(std::count(row.ids.begin(), row.ids.end(), mask), 60);
  expectContains(errorOf([] { MaskedTokens(tokenizerOf("{hole}"), 5 + words, 1, 0); }),
                 {"no token \"[MASK]\""});
  expectContains(errorOf([] { MaskedTokens(tokenizerOf(), mask, 1, 0); }), {"of this model"});
}

} // namespace
