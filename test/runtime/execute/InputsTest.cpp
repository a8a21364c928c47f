#include "runtime/execute/Inputs.h"
#include "runtime/profile/Bench.h"
#include "test/runtime/FakeModule.h"
#include "test/runtime/TestSupport.h"

using namespace transformer::runtime;

namespace {

/// An encoder-decoder entry that has every kind of default.
EntryInfo everyDefault() {
  return parseDescription("fake", R"({"parameters": [], "slots": [], "entries": [{
    "name": "forward", "function": 0, "inputs": [
      {"name": "input_ids", "dtype": "i64", "shape": ["batch", "sequence"]},
      {"name": "ones", "dtype": "i64", "shape": ["batch", "sequence"], "default": {"kind": "ones"}},
      {"name": "zeros", "dtype": "i64", "shape": ["batch", "sequence"],
       "default": {"kind": "zeros"}},
      {"name": "columns", "dtype": "i64", "shape": ["batch", "sequence"],
       "default": {"kind": "columns"}},
      {"name": "not_equal", "dtype": "i64", "shape": ["batch", "sequence"],
       "default": {"kind": "not_equal", "input": "input_ids", "value": 1}},
      {"name": "greater", "dtype": "i64", "shape": ["batch", "sequence"],
       "default": {"kind": "greater", "input": "input_ids", "value": 1}},
      {"name": "roberta", "dtype": "i64", "shape": ["batch", "sequence"],
       "default": {"kind": "count_not_equal", "input": "input_ids", "value": 1}},
      {"name": "of_zeros", "dtype": "i64", "shape": ["rows", "columns"],
       "default": {"kind": "not_equal", "input": "zeros", "value": 1}},
      {"name": "labels", "dtype": "i64", "shape": ["batch", "target"],
       "default": {"kind": "zeros"}},
      {"name": "decoder_input_ids", "dtype": "i64", "shape": ["batch", "target"]}],
    "outputs": [{"name": "y", "dtype": "f32", "shape": ["rows", "target", 2]}]}]})",
                          1)
      .entries[0];
}

std::vector<int64_t> input(const Call &call, const std::string &name) {
  return valuesOf<int64_t>(
      call.inputs[static_cast<size_t>(call.entry->findInput(name) - call.entry->inputs.data())]);
}

TEST(Inputs, Defaults) {
  EntryInfo entry = everyDefault();
  TensorMap given;
  given["input_ids"] = ints({2, 4}, {5, 1, 0, 7, 1, 1, 2, 1});
  given["decoder_input_ids"] = ints({2, 1}, {3, 4});
  Call call = prepareCall(entry, std::move(given));
  using Values = std::vector<int64_t>;
  EXPECT_EQ(input(call, "ones"), (Values{1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(input(call, "zeros"), (Values{0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(input(call, "columns"), (Values{0, 1, 2, 3, 0, 1, 2, 3}));
  EXPECT_EQ(input(call, "not_equal"), (Values{1, 0, 1, 1, 0, 0, 1, 0}));
  EXPECT_EQ(input(call, "greater"), (Values{1, 0, 0, 1, 0, 0, 1, 0}));
  // As Hugging Face's create_position_ids_from_input_ids with padding_idx 1.
  EXPECT_EQ(input(call, "roberta"), (Values{2, 1, 3, 4, 1, 1, 2, 1}));
  EXPECT_EQ(input(call, "of_zeros"), (Values{1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(input(call, "labels"), (Values{0, 0}));
  EXPECT_EQ(call.outputs[0].shape(), (Values{2, 1, 2}));
}

TensorMap idsOf(std::vector<int64_t> shape, const std::vector<int64_t> &values) {
  TensorMap given;
  given["input_ids"] = ints(std::move(shape), values);
  return given;
}

Call prepareFake(TensorMap given) {
  static const Module module(fakeModule(), "fake");
  return prepareCall(module.entry("forward"), std::move(given));
}

std::string errorWith(TensorMap given) {
  return errorOf([&] { prepareFake(std::move(given)); });
}

TEST(Inputs, ConvertsTypes) {
  TensorMap given;
  given["input_ids"] = tensorOf<int32_t>(DataType::I32, {1, 2}, {2, 0});
  given["attention_mask"] = tensorOf<uint8_t>(DataType::Bool, {1, 2}, {1, 0});
  Call call = prepareFake(std::move(given));
  EXPECT_EQ(input(call, "input_ids"), (std::vector<int64_t>{2, 0}));
  EXPECT_EQ(input(call, "attention_mask"), (std::vector<int64_t>{1, 0}));
  given = idsOf({1, 2}, {0, 0});
  given["attention_mask"] = floats({1, 2}, {1, 0.5f});
  expectContains(errorWith(std::move(given)), {"attention_mask", "row 0, column 1"});
}

TEST(Inputs, PositionsOfOneRowStandForAll) {
  TensorMap given = idsOf({2, 2}, {0, 1, 2, 0});
  given["position_ids"] = ints({1, 2}, {3, 2});
  EXPECT_EQ(input(prepareFake(std::move(given)), "position_ids"),
            (std::vector<int64_t>{3, 2, 3, 2}));
  given = idsOf({2, 2}, {0, 1, 2, 0});
  given["attention_mask"] = ints({1, 2}, {1, 1});
  expectContains(errorWith(std::move(given)),
                 {"attention_mask", "[batch, sequence]", "batch 2 as in input_ids", "[1, 2]"});
}

TEST(Inputs, RangesOfEveryElement) {
  EXPECT_EQ(errorWith(idsOf({2, 2}, {0, 1, 3, 0})),
            "input_ids: value 3 at row 1, column 0 is out of range [0, 3)");
  EXPECT_EQ(errorWith(idsOf({2, 2}, {0, 1, 2, -1})),
            "input_ids: value -1 at row 1, column 1 is out of range [0, 3)");
}

TEST(Inputs, Shapes) {
  EXPECT_EQ(errorWith(idsOf({1, 5}, {0, 0, 0, 0, 0})),
            "input_ids: sequence length 5 exceeds the position limit 4");
  EXPECT_EQ(errorWith(idsOf({2}, {0, 0})),
            "input_ids: expected shape [batch, sequence], found [2]");
  EXPECT_EQ(errorWith(idsOf({0, 2}, {})), "input_ids: shape [0, 2] has no elements");
  EXPECT_EQ(errorWith(idsOf({2, 0}, {})), "input_ids: shape [2, 0] has no elements");
  TensorMap given = idsOf({1, 2}, {0, 0});
  given["attention_mask"] = ints({1, 3}, {1, 1, 1});
  expectContains(errorWith(std::move(given)), {"attention_mask", "sequence 2 as in input_ids"});
}

TEST(Inputs, Names) {
  EXPECT_EQ(errorWith({}), "missing input \"input_ids\", forward takes: input_ids, "
                           "attention_mask (optional), position_ids (optional)");
  TensorMap given = idsOf({1, 1}, {0});
  given["ids"] = ints({1}, {1});
  expectContains(errorWith(std::move(given)), {"unknown input \"ids\""});
}

TEST(Bench, InputsTokensAndFlops) {
  static const Module module(fakeModule(), "fake");
  const EntryInfo &entry = module.entry("forward");
  Call call = prepareCall(entry, randomInputs(entry, {3, 1}));
  EXPECT_EQ(call.inputs[0].shape(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(input(call, "attention_mask"), (std::vector<int64_t>{1, 1, 1, 1, 0, 0}));
  EXPECT_EQ(countTokens(call), 4);
  // 10 a token; 3 a row; 2 for each of 3 * 4 / 2 + 1 causal pairs.
  EXPECT_EQ(countFlops(call), 40 + 2 * 3 + 2 * 7);
  EXPECT_EQ(input(prepareCall(entry, randomInputs(entry, {3, 1})), "input_ids"),
            input(call, "input_ids"));
}

} // namespace
