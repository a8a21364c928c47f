#include "runtime/execute/ThreadPool.h"
#include "test/runtime/FakeModule.h"
#include "test/runtime/TestSupport.h"

using namespace transformer::runtime;

namespace {

/// What the fake gives for the ids 0, 1, 2 with these weights.
std::vector<float> outputWith(const TensorMap &weights) {
  TemporaryFolder folder;
  writeSafetensors(folder.path("model.safetensors"), weights);
  Module module(fakeModule(), "fake");
  Program program(module, Checkpoint::open(folder.path()));
  TensorMap inputs;
  inputs["input_ids"] = ints({1, 3}, {0, 1, 2});
  return valuesOf<float>(program.run("forward", std::move(inputs))["last_hidden_state"]);
}

std::string errorWith(const TensorMap &weights) {
  return errorOf([&] { outputWith(weights); });
}

const std::vector<float> expected{101, 202, 113, 214, 125, 226};

TEST(Binding, ByName) { EXPECT_EQ(outputWith(fakeWeights()), expected); }

TEST(Binding, ByAlias) {
  TensorMap weights = fakeWeights();
  weights["old.table"] = std::move(weights["table"]);
  weights.erase("table");
  EXPECT_EQ(outputWith(weights), expected);
}

TEST(Binding, EarlierNamesWin) {
  TensorMap weights = fakeWeights();
  weights["model.table"] = std::move(weights["table"]);
  weights.erase("table");
  weights["old.table"] = floats({3, 2}, {0, 0, 0, 0, 0, 0});
  EXPECT_EQ(outputWith(weights), expected);
}

TEST(Binding, ExtraTensorsAreFine) {
  TensorMap weights = fakeWeights();
  weights["lm_head.weight"] = ints({1}, {1});
  EXPECT_EQ(outputWith(weights), expected);
}

TEST(Binding, UnalignedDataIsCopied) {
  TemporaryFolder folder;
  const float values[] = {1, 2, 3, 4, 5, 6, 100, 200};
  std::string header = R"({"z":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},
    "table":{"dtype":"F32","shape":[3,2],"data_offsets":[1,25]},
    "bias":{"dtype":"F32","shape":[2],"data_offsets":[25,33]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::string data = "z" + std::string(reinterpret_cast<const char *>(values), 32);
  std::string path = folder.write("m.safetensors", safetensorsBytes(header, data));
  Module module(fakeModule(), "fake");
  Program program(module, Checkpoint::open(path));
  TensorMap inputs;
  inputs["input_ids"] = ints({1, 3}, {0, 1, 2});
  EXPECT_EQ(valuesOf<float>(program.run("forward", std::move(inputs))["last_hidden_state"]),
            expected);
}

TEST(Binding, HalfPrecisionIsConverted) {
  TensorMap weights;
  weights["table"] =
      tensorOf<uint16_t>(DataType::BF16, {3, 2}, {0x3F80, 0x4000, 0x4040, 0x4080, 0x40A0, 0x40C0});
  weights["bias"] = tensorOf<uint16_t>(DataType::F16, {2}, {0x5640, 0x5A40});
  EXPECT_EQ(outputWith(weights), expected);
}

TEST(Binding, LongTensorsAreConvertedInPieces) {
  constexpr int64_t count = (int64_t(2) << 19) + 5;
  std::string text = fakeDescription;
  text.replace(text.find("\"parameters\": ["), 15,
               fmt::format("\"parameters\": [{{\"name\": \"long\", \"dtype\": \"f32\", "
                           "\"shape\": [{}]}}, ",
                           count));
  // What stood before it is one further on.
  text.replace(text.find("[0, 1], \"dtype\""), 6, "[1, 2]");
  text.replace(text.find("\"slots\": ["), 10,
               "\"slots\": [{\"kind\": \"parameter\", \"index\": 0}, ");
  TensorMap weights = fakeWeights();
  std::vector<uint16_t> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = static_cast<uint16_t>(0x3F80 + i % 4096);
  weights["long"] = tensorOf<uint16_t>(DataType::BF16, {count}, values);
  TemporaryFolder folder;
  writeSafetensors(folder.path("model.safetensors"), weights);
  tr_module abi = fakeModule(text);
  Module module(abi, "fake");
  Arena arena;
  setThreads(3);
  Parameters parameters(module, Checkpoint::open(folder.path()), std::nullopt, arena, "");
  setThreads(1);
  const auto *found = static_cast<const float *>(parameters.slots()[0]);
  for (int64_t i = 0; i < count; ++i)
    ASSERT_EQ(found[i], bfloat16ToFloat(values[i])) << i;
}

TEST(Binding, MissingTensor) {
  TensorMap weights = fakeWeights();
  weights.erase("bias");
  expectContains(errorWith(weights), {"model.safetensors", "missing tensor \"bias\"", "F32 [2]"});
}

TEST(Binding, WrongShape) {
  TensorMap weights = fakeWeights();
  weights["table"] = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  expectContains(errorWith(weights),
                 {"model.safetensors", "\"table\"", "expected shape [3, 2], found [2, 3]"});
}

TEST(Binding, WrongTypes) {
  TensorMap weights = fakeWeights();
  weights["bias"] = tensorOf<double>(DataType::F64, {2}, {1, 2});
  expectContains(errorWith(weights), {"\"bias\"", "expected dtype F32", "found F64"});
  weights["bias"] = ints({2}, {1, 2});
  expectContains(errorWith(weights), {"found I64"});
}

} // namespace
