#include "runtime/generate/BeamSearch.h"
#include "test/runtime/TestSupport.h"

#include <cmath>
#include <set>

using namespace transformer::runtime;

namespace {

using Ids = std::vector<int64_t>;

/// Runs a search with a model of three tokens, the last of them the end: after token t, token u has
/// probability model[t][u].
std::vector<Hypothesis> searched(const std::string &config, const double (&model)[3][3],
                                 std::vector<Prompt> prompts = {{{0}}}) {
  LogitsProcessors processors(GenerationConfig::parse("config", config), 3);
  BeamSearch search(processors, Stopping(processors.config()));
  search.begin(prompts);
  std::vector<Ids> rows;
  for (int64_t row = 0; row < search.rows(); ++row)
    rows.emplace_back(search.tokens(row).begin(), search.tokens(row).end());
  while (!search.finished()) {
    std::vector<float> scores;
    for (const Ids &row : rows)
      for (double probability : model[row.back()])
        scores.push_back(float(std::log(probability)));
    std::vector<Ids> next;
    for (const Step &step : search.advance(scores.data())) {
      next.push_back(rows[size_t(step.parent)]);
      next.back().push_back(step.token);
    }
    rows = next;
    // What a user keeps by parent and token is what the search has.
    for (int64_t row = 0; row < search.rows(); ++row)
      if (search.active(row))
        EXPECT_EQ(rows[size_t(row)], Ids(search.tokens(row).begin(), search.tokens(row).end()));
  }
  std::vector<Hypothesis> all;
  for (size_t i = 0; i < prompts.size(); ++i)
    for (const Hypothesis &found : search.results(int64_t(i)))
      all.push_back(found);
  return all;
}

// Greedily 0 0 0; the best of all sequences is 0 1 2.
constexpr double model[3][3] = {{0.5, 0.4, 0.1}, {0.05, 0.05, 0.9}, {1, 1, 1}};

TEST(BeamSearch, FindsWhatGreedyMisses) {
  std::vector<Hypothesis> found = searched(
      R"({"num_beams": 2, "num_return_sequences": 2, "eos_token_id": 2, "max_new_tokens": 3})",
      model);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].tokens, (Ids{0, 1, 2}));
  EXPECT_FLOAT_EQ(found[0].score, float((std::log(0.4) + std::log(0.9)) / 2));
  EXPECT_EQ(found[1].tokens, (Ids{0, 0, 1, 2}));
  EXPECT_FLOAT_EQ(found[1].score, float((std::log(0.5) + std::log(0.4) + std::log(0.9)) / 3));
}

TEST(BeamSearch, LengthPenalty) {
  std::vector<Hypothesis> found = searched(
      R"({"num_beams": 2, "eos_token_id": 2, "max_new_tokens": 2, "length_penalty": 2})", model);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].tokens, (Ids{0, 1, 2}));
  EXPECT_FLOAT_EQ(found[0].score, float((std::log(0.4) + std::log(0.9)) / 4));
  found = searched(
      R"({"num_beams": 2, "eos_token_id": 2, "max_new_tokens": 2, "length_penalty": 0})", model);
  EXPECT_FLOAT_EQ(found[0].score, float(std::log(0.4) + std::log(0.9)));
}

// With one forced first token all beams but one have no score to speak of; they must not come out.
TEST(BeamSearch, OneTokenForAllBeams) {
  std::vector<Hypothesis> found = searched(
      R"({"num_beams": 2, "num_return_sequences": 2, "eos_token_id": 2, "max_new_tokens": 3,
                   "forced_bos_token_id": 1})",
      model);
  EXPECT_EQ(found[0].tokens, (Ids{0, 1, 2}));
  EXPECT_FLOAT_EQ(found[0].score, float(std::log(0.9) / 2));
  EXPECT_NE(found[1].tokens, found[0].tokens);
  EXPECT_GT(found[1].score, -10);
}

TEST(BeamSearch, EarlyStopping) {
  // Any two that finished end it, or only those that cannot be passed.
  constexpr double slow[3][3] = {{0.6, 0.01, 0.39}, {0.3, 0.3, 0.4}, {1, 1, 1}};
  const std::string config = R"({"num_beams": 2, "num_return_sequences": 2, "eos_token_id": 2,
                                 "max_new_tokens": 8, "length_penalty": 3, "early_stopping": )";
  EXPECT_EQ(searched(config + "true}", slow)[0].tokens.size(), 3u);
  EXPECT_EQ(searched(config + "\"never\"}", slow)[0].tokens.size(), 9u);
}

TEST(BeamSearch, PromptsAreIndependent) {
  const std::string config =
      R"({"num_beams": 3, "num_return_sequences": 3, "eos_token_id": 2, "max_new_tokens": 5})";
  std::vector<Prompt> prompts{{{0}}, {{1, 1}}, {{0, 1, 0}}};
  std::vector<Hypothesis> together = searched(config, model, prompts), alone;
  for (const Prompt &prompt : prompts)
    for (const Hypothesis &found : searched(config, model, {prompt}))
      alone.push_back(found);
  ASSERT_EQ(together.size(), alone.size());
  for (size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(together[i].tokens, alone[i].tokens);
    EXPECT_EQ(together[i].score, alone[i].score);
  }
}

TEST(BeamSearch, DrawsWithoutReplacement) {
  // Two sequences a seed, the better one first; not the same for all seeds.
  std::set<Ids> seen;
  for (int seed = 0; seed < 30; ++seed) {
    std::vector<Hypothesis> found = searched(
        formatted(R"({{"num_beams": 2, "num_return_sequences": 2, "do_sample": true, "seed": {},
                      "eos_token_id": 2, "max_new_tokens": 4}})",
                  seed),
        model);
    EXPECT_NE(found[0].tokens, found[1].tokens);
    EXPECT_GE(found[0].score, found[1].score);
    seen.insert(found[0].tokens);
  }
  EXPECT_GT(seen.size(), 1u);
}

TEST(BeamSearch, NeedsAsManyCandidates) {
  expectContains(errorOf([] { searched(R"({"num_beams": 2, "eos_token_id": [0, 1, 2]})", model); }),
                 {"eos_token_id: expected fewer than the vocabulary's 3 tokens, found 3"});
}

TEST(TopK, SortsByValue) {
  TopK topK;
  for (size_t size : {4, 500}) {
    std::vector<float> values(size);
    for (size_t i = 0; i < size; ++i)
      values[i] = float(i * 7 % size);
    std::span<const size_t> best = topK(values, 3);
    for (size_t i = 0; i < 3; ++i)
      EXPECT_EQ(values[best[i]], float(size - 1 - i));
    values[1] = std::nanf("");
    EXPECT_EQ(topK(values, 3)[0], 1u); // as torch
  }
}

} // namespace
