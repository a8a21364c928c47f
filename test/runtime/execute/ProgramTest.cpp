#include "runtime/execute/ThreadPool.h"
#include "runtime/text/Embedder.h"
#include "test/runtime/FakeModule.h"
#include "test/runtime/TestSupport.h"

#include <chrono>

using namespace transformer::runtime;

namespace {

class ProgramTest : public testing::Test {
protected:
  Checkpoint weights() {
    writeSafetensors(folder.path("model.safetensors"), fakeWeights());
    return Checkpoint::open(folder.path());
  }

  TemporaryFolder folder;
  Module module{fakeModule(), "fake"};
  Program program{module, weights()};
};

TEST_F(ProgramTest, RunsEndToEnd) {
  for (int count : {1, 3}) {
    setThreads(count);
    TensorMap inputs;
    inputs["input_ids"] = ints({2, 2}, {2, 0, 1, 1});
    inputs["attention_mask"] = ints({2, 2}, {1, 1, 1, 0});
    TensorMap outputs = program.run("forward", std::move(inputs));
    ASSERT_EQ(outputs.size(), 1u);
    EXPECT_EQ(outputs["last_hidden_state"].shape(), (std::vector<int64_t>{2, 2, 2}));
    EXPECT_EQ(valuesOf<float>(outputs["last_hidden_state"]),
              (std::vector<float>{105, 206, 111, 212, 103, 204, 0, 0}));
  }
  setThreads(1);
}

TEST_F(ProgramTest, ArenaGrowsAndCallsRepeat) {
  for (int64_t rows : {1, 100, 3, 50000}) {
    TensorMap inputs;
    inputs["input_ids"] = ints({rows, 1}, std::vector<int64_t>(static_cast<size_t>(rows), 1));
    Call call = program.prepare("forward", std::move(inputs));
    for (int round = 0; round < 2; ++round) {
      program.execute(call);
      const auto *values = call.outputs[0].data<float>();
      EXPECT_EQ(values[2 * rows - 2], 103);
      EXPECT_EQ(values[2 * rows - 1], 204);
    }
  }
}

TEST_F(ProgramTest, WeightsThatAreWrittenToWhileInUse) {
  auto run = [&] {
    TensorMap inputs;
    inputs["input_ids"] = ints({1, 1}, {1});
    program.run("forward", std::move(inputs));
  };
  run();
  std::string path = folder.path("model.safetensors");
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) +
                                             std::chrono::seconds(1));
  EXPECT_EQ(errorOf(run), path + ": changed while it was in use");
}

TEST_F(ProgramTest, EmbedsInTheOrderOfTheTexts) {
  // The fake takes ids below 3.
  Tokenizer tokenizer = Tokenizer::parse(
      "t", R"({"vocab": "[CLS]\n[SEP]\na\n[UNK]\n[MASK]\n", "pad_token": "[CLS]"})");
  Embedder embedder(program, tokenizer);
  // [CLS] [SEP], [CLS] a [SEP], and one that is cut to [CLS] a a [SEP].
  Tensor vectors = embedder.embed({"", "a", "a a a a a a a"});
  ASSERT_EQ(vectors.shape(), (std::vector<int64_t>{3, 2}));
  const auto *v = vectors.data<float>();
  EXPECT_FLOAT_EQ(v[0], (101.0f + 113.0f) / 2);
  EXPECT_FLOAT_EQ(v[2], (101.0f + 115.0f + 123.0f) / 3);
  EXPECT_FLOAT_EQ(v[4], (101.0f + 115.0f + 125.0f + 133.0f) / 4);
  EXPECT_FLOAT_EQ(v[5], (202.0f + 216.0f + 226.0f + 234.0f) / 4);
  EXPECT_EQ(embedder.tokens(), 9);
}

TEST(Rank, BestFirst) {
  Tensor vectors = floats({3, 2}, {0, 2, 1, 1, 3, 0});
  const float query[] = {5, 0};
  std::vector<Match> matches = rank(vectors, query, 2);
  ASSERT_EQ(matches.size(), 2u);
  EXPECT_EQ(matches[0].index, 2u);
  EXPECT_FLOAT_EQ(matches[0].score, 1);
  EXPECT_EQ(matches[1].index, 1u);
  EXPECT_FLOAT_EQ(matches[1].score, 0.70710678f);
}

TEST(Memory, BuffersAreAligned) {
  for (size_t size : {size_t(0), size_t(1), size_t(65), size_t(5) << 20}) {
    AlignedBuffer buffer(size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % bufferAlignment, 0u);
    if (size)
      buffer.data()[size - 1] = 1;
    AlignedBuffer moved = std::move(buffer);
    EXPECT_EQ(buffer.data(), nullptr);
    EXPECT_EQ(moved.size(), size);
  }
  expectContains(errorOf([] { AlignedBuffer buffer(SIZE_MAX / 4); }), {"out of memory"});
  expectContains(errorOf([] { AlignedBuffer buffer(SIZE_MAX); }), {"out of memory"});
}

} // namespace
