#include "runtime/generate/LogitsProcessors.h"
#include "test/runtime/TestSupport.h"

#include <cmath>

using namespace transformer::runtime;

namespace {

using Row = std::vector<float>;
constexpr float no = minusInfinity;

/// What a configuration makes of a row that continues `tokens`.
Row processed(const std::string &config, Row row, const std::vector<int64_t> &tokens,
              int64_t promptLength = 1, int64_t maxLength = 100,
              const std::vector<int64_t> &source = {}) {
  LogitsProcessors processors(GenerationConfig::parse("config", config), int64_t(row.size()));
  processors.apply(row, {tokens, promptLength, maxLength, source});
  return row;
}

TEST(Processors, RepetitionPenalty) {
  // Token 1 comes twice and is penalised once; 9 is beyond the vocabulary.
  EXPECT_EQ(processed(R"({"repetition_penalty": 2})", {1, 3, -3, 0, 5}, {1, 2, 1, 9, 3}),
            (Row{1, 1.5f, -6, 0, 5}));
  EXPECT_EQ(
      processed(R"({"encoder_repetition_penalty": 2})", {1, 3, -3, 4}, {0}, 1, 100, {1, 2, 2}),
      (Row{1, 6, -1.5f, 4}));
}

TEST(Processors, NgramsComeOnce) {
  const char *two = R"({"no_repeat_ngram_size": 2})";
  EXPECT_EQ(processed(two, {1, 2, 3, 4}, {3, 1, 3, 2, 3}), (Row{1, no, no, 4}));
  EXPECT_EQ(processed(two, {1, 2, 3, 4}, {3}), (Row{1, 2, 3, 4}));
  EXPECT_EQ(processed(two, {1, 2, 3, 4}, {3, 3}), (Row{1, 2, 3, no}));
  EXPECT_EQ(processed(R"({"no_repeat_ngram_size": 1})", {1, 2, 3, 4}, {3, 1}), (Row{1, no, 3, no}));
  EXPECT_EQ(processed(R"({"no_repeat_ngram_size": 3})", {1, 2, 3, 4}, {1, 2, 3, 1, 2}),
            (Row{1, 2, 3, no}));
  EXPECT_EQ(processed(R"({"encoder_no_repeat_ngram_size": 2})", {1, 2, 3, 4}, {0, 3}, 1, 100,
                      {3, 1, 3, 2}),
            (Row{1, no, no, 4}));
}

TEST(Processors, SequenceBias) {
  const char *config =
      R"({"sequence_bias": [[[1], 2], [[0, 1], 3], [[2, 0, 1], -10], [[3, 2], 7]]})";
  EXPECT_EQ(processed(config, {0, 0, 0, 0}, {1}), (Row{0, 2, 0, 0}));
  EXPECT_EQ(processed(config, {0, 0, 0, 0}, {0}), (Row{0, 5, 0, 0}));
  EXPECT_EQ(processed(config, {0, 0, 0, 0}, {2, 0}), (Row{0, -5, 0, 0}));
  expectContains(errorOf([&] { processed(config, {0, 0, 0}, {1}); }),
                 {"sequence_bias: expected tokens from 0 to 2, found 3"});
}

TEST(Processors, BadWords) {
  const char *config = R"({"bad_words_ids": [[1], [0], [2, 3]], "eos_token_id": [1]})";
  EXPECT_EQ(processed(config, {1, 2, 3, 4}, {3}), (Row{no, 2, 3, 4})); // an eos may come
  EXPECT_EQ(processed(config, {1, 2, 3, 4}, {2}), (Row{no, 2, 3, no}));
  // Twice on one row: no memory of the first time.
  LogitsProcessors processors(GenerationConfig::parse("config", config), 4);
  std::vector<int64_t> tokens{2};
  for (int i = 0; i < 2; ++i) {
    Row row{1, 2, 3, 4};
    processors.apply(row, {tokens, 1, 10, {}});
    EXPECT_EQ(row, (Row{no, 2, 3, no}));
  }
}

TEST(Processors, LeastLengths) {
  const char *length = R"({"min_length": 3, "eos_token_id": [1, 2]})";
  EXPECT_EQ(processed(length, {1, 2, 3}, {0, 0}, 2), (Row{1, no, no}));
  EXPECT_EQ(processed(length, {1, 2, 3}, {0, 0, 0}, 2), (Row{1, 2, 3}));
  const char *fresh = R"({"min_new_tokens": 1, "min_length": 9, "eos_token_id": 1})";
  EXPECT_EQ(processed(fresh, {1, 2, 3}, {0, 0}, 2), (Row{1, no, 3}));
  EXPECT_EQ(processed(fresh, {1, 2, 3}, {0, 0, 0}, 2), (Row{1, 2, 3}));
}

TEST(Processors, ForcedTokens) {
  const char *config = R"({"forced_bos_token_id": 2, "forced_eos_token_id": [0, 1]})";
  EXPECT_EQ(processed(config, {1, 2, 3}, {1}), (Row{no, no, 0}));
  EXPECT_EQ(processed(config, {1, 2, 3}, {1, 1}, 1, 4), (Row{1, 2, 3}));
  EXPECT_EQ(processed(config, {1, 2, 3}, {1, 1, 1}, 1, 4), (Row{0, 0, no}));
  expectContains(errorOf([&] { processed(config, {1, 2}, {1}); }),
                 {"forced_bos_token_id: expected a token from 0 to 1, found 2"});
}

TEST(Processors, Suppression) {
  EXPECT_EQ(processed(R"({"suppress_tokens": [0, 2, 7, -1]})", {1, 2, 3}, {1}), (Row{no, 2, no}));
  const char *begin = R"({"begin_suppress_tokens": [0]})";
  EXPECT_EQ(processed(begin, {1, 2, 3}, {1, 1}, 2), (Row{no, 2, 3}));
  EXPECT_EQ(processed(begin, {1, 2, 3}, {1, 1, 1}, 2), (Row{1, 2, 3}));
  // The first token is forced: the second is the first that is chosen.
  const char *forced = R"({"begin_suppress_tokens": [0], "forced_bos_token_id": 2})";
  EXPECT_EQ(processed(forced, {1, 2, 3}, {1}), (Row{no, no, 0}));
  EXPECT_EQ(processed(forced, {1, 2, 3}, {1, 2}), (Row{no, 2, 3}));
  EXPECT_EQ(processed(forced, {1, 2, 3}, {1, 1}, 2), (Row{no, 2, 3}));
}

TEST(Processors, ExponentialDecay) {
  const char *config = R"({"exponential_decay_length_penalty": [2, 1.5], "eos_token_id": [1, 2]})";
  EXPECT_EQ(processed(config, {1, -4, 2}, {0, 0, 0}, 1), (Row{1, -4, 2}));
  EXPECT_EQ(processed(config, {1, -4, 2}, {0, 0, 0, 0}, 1), (Row{1, -2, 3}));
  EXPECT_EQ(processed(config, {1, no, 2}, {0, 0, 0, 0, 0}, 1), (Row{1, no, 4.5f}));
}

TEST(Processors, InvalidValues) {
  constexpr float most = std::numeric_limits<float>::max();
  EXPECT_EQ(processed(R"({"remove_invalid_values": true})", {std::nanf(""), -no, no, 1}, {0}),
            (Row{0, most, -most, 1}));
}

TEST(Processors, Renormalization) {
  Row row = processed(R"({"renormalize_logits": true, "suppress_tokens": [0]})", {9, 1, 1}, {0});
  EXPECT_EQ(row[0], no);
  EXPECT_FLOAT_EQ(row[1], -std::log(2.0f));
  EXPECT_FLOAT_EQ(row[2], -std::log(2.0f));
}

// A forced token takes part in what comes later: suppression does, a bad word does not.
TEST(Processors, Order) {
  EXPECT_EQ(
      processed(R"({"forced_eos_token_id": [0, 1], "suppress_tokens": [1], "bad_words_ids": [[0]],
                          "repetition_penalty": 2})",
                {1, 2, 3}, {0, 1}, 1, 3),
      (Row{0, no, no}));
  // First the bias, then the penalty.
  EXPECT_EQ(processed(R"({"sequence_bias": [[[0], 3]], "repetition_penalty": 2})", {1, 2}, {0}),
            (Row{2, 2}));
}

// Warpers are for sampling only.
TEST(Processors, GreedyDoesNotWarp) {
  EXPECT_EQ(processed(R"({"temperature": 2, "top_k": 1})", {1, 2}, {0}), (Row{1, 2}));
  EXPECT_EQ(processed(R"({"temperature": 2, "top_k": 1, "do_sample": true})", {1, 2}, {0}),
            (Row{no, 1}));
}

} // namespace
