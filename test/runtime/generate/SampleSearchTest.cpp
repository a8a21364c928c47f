#include "runtime/generate/SampleSearch.h"
#include "test/runtime/TestSupport.h"

using namespace transformer::runtime;

namespace {

using Ids = std::vector<int64_t>;

TEST(DrawIndex, ByShare) {
  std::vector<float> weights{0, 0.25f, 0, 0.75f, 0};
  EXPECT_EQ(drawIndex(weights, 1, 0), 1);
  EXPECT_EQ(drawIndex(weights, 1, 0.2499), 1);
  EXPECT_EQ(drawIndex(weights, 1, 0.25), 3);
  EXPECT_EQ(drawIndex(weights, 1, 0.9999), 3);
  EXPECT_EQ(drawIndex(weights, 1.01, 0.9999), 3); // rounding: never one without weight
}

/// Sequences of a model whose next best token is the last plus one, to 7.
std::vector<Ids> counted(const std::string &config, const std::vector<Prompt> &prompts) {
  LogitsProcessors processors(GenerationConfig::parse("config", config), 8);
  SampleSearch search(processors, Stopping(processors.config()));
  search.begin(prompts);
  while (!search.finished()) {
    std::vector<float> scores(size_t(search.rows()) * 8, 0.0f);
    for (int64_t row = 0; row < search.rows(); ++row)
      scores[size_t(row * 8 + std::min<int64_t>(7, search.tokens(row).back() + 1))] = 2;
    std::span<const Step> steps = search.advance(scores.data());
    for (int64_t row = 0; row < search.rows(); ++row)
      EXPECT_EQ(steps[size_t(row)].parent, row);
  }
  std::vector<Ids> all;
  for (size_t i = 0; i < prompts.size(); ++i)
    for (const Hypothesis &found : search.results(int64_t(i)))
      all.push_back(found.tokens);
  return all;
}

TEST(SampleSearch, Greedy) {
  EXPECT_EQ(counted(R"({"eos_token_id": 5, "max_new_tokens": 4})", {{{3}}, {{0, 0}}}),
            (std::vector<Ids>{{3, 4, 5}, {0, 0, 1, 2, 3, 4}}));
  EXPECT_EQ(counted(R"({"max_length": 3})", {{{3}}}), (std::vector<Ids>{{3, 4, 5}}));
  EXPECT_EQ(counted(R"({"eos_token_id": 4, "min_new_tokens": 2, "max_new_tokens": 3})", {{{3}}}),
            (std::vector<Ids>{{3, 0, 1, 2}})); // the first of equals
}

TEST(SampleSearch, RowsThatEndedAreFilled) {
  LogitsProcessors processors(
      GenerationConfig::parse("config",
                              R"({"eos_token_id": 1, "pad_token_id": 3, "max_new_tokens": 3})"),
      4);
  SampleSearch search(processors, Stopping(processors.config()));
  std::vector<Prompt> prompts{{{0}}, {{0}}};
  search.begin(prompts);
  std::vector<float> scores{0, 1, 0, 0, 0, 0, 1, 0};
  search.advance(scores.data());
  EXPECT_FALSE(search.active(0));
  EXPECT_TRUE(search.active(1));
  scores = {0, 0, 1, 0, 0, 1, 0, 0};
  EXPECT_EQ(search.advance(scores.data())[0].token, 3);
  EXPECT_TRUE(search.finished());
  EXPECT_EQ(search.results(0)[0].tokens, (Ids{0, 1}));
  EXPECT_EQ(search.results(1)[0].tokens, (Ids{0, 2, 1}));
}

TEST(SampleSearch, DrawsDependOnSeedNumberAndPosition) {
  const std::string config =
      R"({"do_sample": true, "num_return_sequences": 2, "max_new_tokens": 12, "seed": 3})";
  std::vector<Ids> both = counted(config, {{{1}}, {{1}}}), first = counted(config, {{{1}}}),
                   second = counted(config, {{{1}, {}, 1}});
  EXPECT_EQ((std::vector<Ids>{both[0], both[1]}), first);
  EXPECT_EQ((std::vector<Ids>{both[2], both[3]}), second);
  EXPECT_NE(both[0], both[1]);
  EXPECT_NE(both[0], both[2]);
  EXPECT_NE(counted(R"({"do_sample": true, "max_new_tokens": 12, "seed": 4})", {{{1}}})[0],
            both[0]);
}

TEST(SampleSearch, RefusesPrompts) {
  expectContains(errorOf([] { counted("{}", {{{}}}); }), {"prompt 1: expected a token"});
  expectContains(errorOf([] { counted(R"({"max_length": 2})", {{{1, 2}}}); }), {"max_length"});
}

} // namespace
