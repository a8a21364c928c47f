#include "runtime/generate/Batcher.h"
#include "runtime/base/Hash.h"
#include "test/runtime/FakeModule.h"
#include "test/runtime/TestSupport.h"

#include <numeric>

using namespace transformer::runtime;

namespace {

constexpr int64_t vocabulary = 11, positions = 2, maxPositions = 60;

const std::string description = R"({
  "producer": "by hand", "model_type": "fake", "mode": "inference",
  "target": {"arch": "z80", "cpu": "generic", "features": []},
  "parameters": [], "slots": [],
  "states": [{"name": "cache", "dtype": "f32", "shape": ["pages", 4, 1]}],
  "entries": [{"name": "step", "function": 0, "states": [0],
    "inputs": [
      {"name": "input_ids", "dtype": "i64", "shape": ["batch", "sequence"], "range": [0, 11]},
      {"name": "attention_mask", "dtype": "i64", "shape": ["batch", "sequence"]},
      {"name": "position_ids", "dtype": "i64", "shape": ["batch", "sequence"], "range": [0, 60]},
      {"name": "page_table", "dtype": "i64", "shape": ["batch", "table"]},
      {"name": "key_lengths", "dtype": "i64", "shape": ["batch"]}],
    "outputs": [{"name": "logits", "dtype": "f32", "shape": ["batch", 11]}]}]})";

/// New tokens of each row of each call.
std::vector<std::vector<int64_t>> calls;

/// Scores depend on all tokens of a row, which it finds in its pages.
void step(const void *const *, const tr_tensor *io, void *) {
  const auto *ids = static_cast<const int64_t *>(io[0].data);
  const auto *mask = static_cast<const int64_t *>(io[1].data);
  const auto *places = static_cast<const int64_t *>(io[2].data);
  const auto *table = static_cast<const int64_t *>(io[3].data);
  const auto *lengths = static_cast<const int64_t *>(io[4].data);
  auto *cache = static_cast<float *>(io[5].data);
  auto *logits = static_cast<float *>(io[6].data);
  int64_t batch = io[0].sizes[0], width = io[0].sizes[1], tableWidth = io[3].sizes[1];
  calls.emplace_back();
  for (int64_t row = 0; row < batch; ++row) {
    int64_t count = std::accumulate(mask + row * width, mask + (row + 1) * width, int64_t(0));
    calls.back().push_back(count);
    auto at = [&](int64_t position) -> float & {
      return cache[4 * table[row * tableWidth + position / positions] + position % positions];
    };
    for (int64_t j = 0; j < count; ++j) {
      int64_t position = lengths[row] - count + j;
      EXPECT_EQ(places[row * width + j], position);
      at(position) = float(ids[row * width + j]);
    }
    std::string tokens;
    for (int64_t position = 0; position < lengths[row]; ++position)
      tokens += char(at(position));
    for (int64_t token = 0; token < vocabulary; ++token)
      logits[row * vocabulary + token] = float(hashOf(tokens + char(token)) % 1000) / 150;
  }
}

int64_t noArena(const void *const *, const tr_tensor *) { return 0; }

const tr_function functions[] = {{step, noArena}};
const tr_module fake = moduleOf(description, functions);

using Sequences = std::vector<std::vector<int64_t>>;

class BatcherTest : public testing::Test {
protected:
  BatcherTest() { calls.clear(); }

  GenerationConfig config() {
    GenerationConfig config;
    config.maxNewTokens = 12;
    config.eosTokenId = {3};
    return config;
  }

  static Prompt prompt(int64_t length, uint64_t number) {
    Prompt result;
    for (int64_t i = 0; i < length; ++i)
      result.tokens.push_back((7 * i + int64_t(number)) % vocabulary);
    result.number = number;
    return result;
  }

  /// What becomes of prompts.
  std::vector<Sequences> run(const GenerationConfig &config, const std::vector<Prompt> &prompts,
                             BatchLimits limits) {
    LogitsProcessors processors(config, vocabulary);
    std::vector<Sequences> results(prompts.size());
    Batcher batcher(model, processors, Stopping(config), limits, model.makeCache(limits.pages),
                    {.done = [&](int64_t request, const std::vector<Hypothesis> &found) {
                      for (const Hypothesis &one : found)
                        results[size_t(request)].push_back(one.tokens);
                    }});
    for (const Prompt &one : prompts)
      batcher.add(one);
    while (batcher.step()) {
    }
    EXPECT_EQ(std::move(batcher).releaseCache().freePages(), limits.pages);
    return results;
  }

  /// Rows leave and enter at different times; a prompt's sequences are those that it has alone.
  void expectIndependent(const GenerationConfig &config) {
    std::vector<Prompt> prompts;
    for (int64_t length : {1, 9, 2, 30, 5, 1, 14, 3, 3, 22})
      prompts.push_back(prompt(length, prompts.size()));
    for (BatchLimits limits : {BatchLimits{16, 512, 400}, BatchLimits{6, 5, 200},
                               BatchLimits{6, 1, 200}, BatchLimits{100, 16, 120}}) {
      std::vector<Sequences> together = run(config, prompts, limits);
      for (size_t i = 0; i < prompts.size(); ++i) {
        EXPECT_EQ(together[i], run(config, {prompts[i]}, {100, 512, 200})[0]);
        EXPECT_EQ(int64_t(together[i].size()), config.numReturnSequences);
      }
    }
  }

  Module module{fake, "fake"};
  Program program{module, Checkpoint()};
  StepModel model{program};
};

TEST_F(BatcherTest, Greedy) { expectIndependent(config()); }

TEST_F(BatcherTest, SamplesOfAPrompt) {
  GenerationConfig sampling = config();
  sampling.doSample = true;
  sampling.numReturnSequences = 3;
  expectIndependent(sampling);
}

TEST_F(BatcherTest, Beams) {
  GenerationConfig beams = config();
  beams.numBeams = 3;
  beams.numReturnSequences = 2;
  expectIndependent(beams);
}

TEST_F(BatcherTest, LongPromptsAreReadInParts) {
  run(config(), {prompt(21, 0)}, {16, 8, 100});
  ASSERT_GE(calls.size(), 4u);
  EXPECT_EQ(calls[0], (std::vector<int64_t>{8}));
  EXPECT_EQ(calls[1], (std::vector<int64_t>{8}));
  EXPECT_EQ(calls[2], (std::vector<int64_t>{5}));
  EXPECT_EQ(calls[3], (std::vector<int64_t>{1}));
}

/// The second user's first token comes with the next call, however long the first one's prompt is.
TEST_F(BatcherTest, AShortRequestDoesNotWaitForALongPrompt) {
  LogitsProcessors processors(config(), vocabulary);
  std::vector<int64_t> first(2, -1);
  Batcher batcher(model, processors, Stopping(processors.config()), {16, 8, 100},
                  model.makeCache(100), {.token = [&](int64_t request, int64_t, int64_t) {
                    if (first[size_t(request)] < 0)
                      first[size_t(request)] = int64_t(calls.size());
                  }});
  batcher.add(prompt(40, 0));
  batcher.step();
  batcher.add(prompt(3, 1));
  while (batcher.step()) {
  }
  EXPECT_EQ(calls[1], (std::vector<int64_t>{3, 5})); // the short one's rest first
  EXPECT_EQ(first[1], 2);
  EXPECT_EQ(first[0], 6); // 8 + 5 + 7 + 7 + 7 + 6
}

/// What others do not use is for those that do.
TEST_F(BatcherTest, RoomIsUsedAtOnce) {
  GenerationConfig endless = config();
  endless.eosTokenId = {};
  std::vector<Prompt> prompts;
  for (int64_t newTokens : {2, 9, 3, 4, 2})
    prompts.emplace_back(prompt(1, prompts.size())).maxNewTokens = newTokens;
  run(endless, prompts, {2, 512, 100});
  std::vector<size_t> rows;
  for (const std::vector<int64_t> &call : calls)
    rows.push_back(call.size());
  EXPECT_EQ(rows, (std::vector<size_t>{2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1}));
}

TEST_F(BatcherTest, WhatCanNeverBeTaken) {
  GenerationConfig some = config();
  LogitsProcessors processors(some, vocabulary);
  Batcher batcher(model, processors, Stopping(some), {16, 512, 8}, model.makeCache(8), {});
  batcher.add(prompt(4, 0));
  EXPECT_EQ(errorOf([&] { batcher.add(prompt(5, 0)); }),
            "prompt 2: its keys and values need 9 pages, expected at most 8");
  EXPECT_EQ(errorOf([&] { batcher.add(prompt(maxPositions - 10, 0)); }),
            "prompt 2: 50 tokens and 12 new ones: expected at most 60 positions");
  EXPECT_EQ(errorOf([&] { batcher.add({}); }), "prompt 2: expected a token, found none");
}

} // namespace
