#include "test/runtime/FakeModule.h"
#include "test/runtime/TestSupport.h"

#include <nlohmann/json.hpp>

using namespace transformer::runtime;
using nlohmann::json;

namespace {

/// The message for the fake's description with the value at `pointer` replaced (or removed).
std::string errorWith(const std::string &pointer, const json &value) {
  json description = json::parse(fakeDescription);
  json::json_pointer at(pointer);
  if (value.is_discarded())
    description[at.parent_pointer()].erase(at.back());
  else
    description[at] = value;
  return errorOf([&] { parseDescription("fake", description.dump(), 3); });
}

const json removed(json::value_t::discarded);

// Behind the two parameters, tensors that were prepared before.
TEST(Description, PreparedFromPrepared) {
  json description = json::parse(fakeDescription);
  description["prepared"][1]["sources"] = {0, 2};
  EXPECT_EQ(parseDescription("fake", description.dump(), 3).prepared[1].sources,
            (std::vector<size_t>{0, 2}));
  expectContains(errorWith("/prepared/1/sources", {3}), {"prepared[1].sources[0]", "[0, 3)"});
}

TEST(Description, Parses) {
  Description description = parseDescription("fake", fakeDescription, 3);
  EXPECT_EQ(description.modelType, "fake");
  EXPECT_EQ(description.parameters[0].aliases[1], "old.table");
  EXPECT_EQ(description.prepared[0].sources, (std::vector<size_t>{0, 1}));
  EXPECT_EQ(description.slots[2].kind, SlotInfo::Parameter);
  const EntryInfo &entry = *description.findEntry("forward");
  EXPECT_EQ(entry.inputs[0].range->high, 3);
  EXPECT_EQ(entry.inputs[0].maxLength, 4);
  EXPECT_EQ(entry.inputs[2].defaultValue->kind, DefaultInfo::Columns);
  EXPECT_TRUE(entry.inputs[2].broadcast);
  EXPECT_EQ(entry.outputs[0].shape[2].size, 2);
  EXPECT_EQ(entry.firstMask()->name, "attention_mask");
  EXPECT_EQ(description.embedding->maxLength, 4);
  EXPECT_EQ(description.findEntry("backward"), nullptr);
  EXPECT_EQ(entry.objective, "");
}

TEST(Description, Objective) {
  json description = json::parse(fakeDescription);
  description["entries"][0]["objective"] = "next_token";
  EXPECT_EQ(parseDescription("fake", description.dump(), 3).entries[0].objective, "next_token");
  expectContains(errorWith("/entries/0/objective", 1), {"entries[0].objective", "a string"});
}

TEST(Description, Initializers) {
  json description = json::parse(fakeDescription);
  description["parameters"][0]["init"] = {{"kind", "normal"}, {"value", 0.5}, {"zero_row", 1}};
  const ParameterInfo table = parseDescription("fake", description.dump(), 3).parameters[0];
  EXPECT_EQ(table.init->kind, InitInfo::Normal);
  EXPECT_EQ(table.init->value, 0.5);
  EXPECT_EQ(table.init->zeroRow, 1);
  auto error = [](int parameter, const json &init) {
    return errorWith("/parameters/" + std::to_string(parameter) + "/init", init);
  };
  expectContains(error(0, {{"kind", "norm"}}),
                 {"parameters[0].init.kind", "unknown kind \"norm\""});
  expectContains(error(0, {{"kind", "normal"}}), {"parameters[0].init", "missing field \"value\""});
  expectContains(error(0, {{"kind", "ones"}, {"zero_row", 3}}), {"init.zero_row", "[0, 3)"});
  expectContains(error(1, {{"kind", "xavier_normal"}}),
                 {"parameters[1].init", "shape [2] cannot be \"xavier_normal\""});
  expectContains(error(1, {{"kind", "sinusoids"}, {"value", 1}}), {"cannot be \"sinusoids\""});
}

TEST(Description, NamesTheBadField) {
  expectContains(errorWith("/parameters", removed), {"fake: description", "\"parameters\""});
  expectContains(errorWith("/parameters/1/name", 3), {"parameters[1].name", "expected a string"});
  expectContains(errorWith("/parameters/0/dtype", "i64"), {"parameters[0].dtype"});
  expectContains(errorWith("/parameters/0/dtype", "f33"), {"unknown dtype \"f33\""});
  expectContains(errorWith("/parameters/0/shape", {3, -2}), {"parameters[0].shape[1]", "-2"});
  expectContains(errorWith("/parameters/0/shape", {1LL << 62, 4}), {"overflows"});
  expectContains(errorWith("/prepared/0/function", 3), {"prepared[0].function", "[0, 3)"});
  expectContains(errorWith("/prepared/0/sources/1", 2), {"prepared[0].sources[1]", "[0, 2)"});
  expectContains(errorWith("/prepared/1/shape", {1, 1, 1, 1, 1, 1, 1, 1, 1}), {"rank 9"});
  expectContains(errorWith("/slots/0/kind", "state"), {"slots[0].kind", "\"state\""});
  expectContains(errorWith("/slots/1/index", 2), {"slots[1].index"});
  expectContains(errorWith("/entries/0/function", -1), {"entries[0].function"});
  expectContains(errorWith("/entries/0/inputs/0/dtype", "i4"), {"inputs[0].dtype", "\"i4\""});
  expectContains(errorWith("/entries/0/inputs/0/dtype", "f32"), {"range: only integers"});
  expectContains(errorWith("/entries/0/inputs/0/below", "rows"), {"\"rows\"", "\"input_ids\""});
  expectContains(errorWith("/entries/0/inputs/1/dtype", "i32"), {"default", "only i64"});
  expectContains(errorWith("/entries/0/inputs/1/default/kind", "twos"), {"\"twos\""});
  expectContains(errorWith("/entries/0/inputs/1/name", "input_ids"), {"twice"});
  expectContains(errorWith("/entries/0/outputs/0/shape/1", "width"), {"\"width\"", "no input's"});
  expectContains(errorWith("/entries/0/flops/attention/0/keys", "mask"), {"\"mask\""});
  expectContains(errorWith("/entries/0/flops/per_sequence_of/mask", 1),
                 {"fake: description.entries[0].flops.per_sequence_of: \"mask\" is not an input"});
  expectContains(errorWith("/entries/0/flops/per_sequence_of/attention_mask", "many"),
                 {"fake: description.entries[0].flops.per_sequence_of.attention_mask: expected a"});
  expectContains(errorWith("/entries/0/inputs/0/range/1", "high"),
                 {"fake: description.entries[0].inputs[0].range[1]: expected an integer"});
  expectContains(errorWith("/entries/0/inputs/0/range", {1}), {"[low, high], found [1]"});
  expectContains(errorWith("/embedding/pooling", "sum"), {"\"sum\""});
  expectContains(errorOf([] { parseDescription("fake", "{", 3); }), {"not JSON"});
  expectContains(errorOf([] { parseDescription("fake", "[]", 3); }), {"expected an object"});
}

TEST(Description, DefaultsMustLeadSomewhere) {
  json around = {{"kind", "not_equal"}, {"input", "attention_mask"}, {"value", 0}};
  expectContains(errorWith("/entries/0/inputs/1/default", around), {"depends on itself"});
  json nowhere = {{"kind", "not_equal"}, {"input", "ids"}, {"value", 0}};
  expectContains(errorWith("/entries/0/inputs/1/default", nowhere), {"\"ids\""});
}

TEST(Description, States) {
  json description = json::parse(fakeDescription);
  description["states"] = {{{"name", "rows"}, {"dtype", "bf16"}, {"shape", {"capacity", 4}}},
                           {{"name", "count"}, {"dtype", "i64"}, {"shape", json::array()}}};
  json &entry = description["entries"][0];
  entry["states"] = {1, 0};
  entry["outputs"][0]["shape"] = {"capacity"};
  auto parse = [&] { return parseDescription("fake", description.dump(), 3); };
  EXPECT_EQ(parse().states[0].shape[0].name, "capacity");
  EXPECT_EQ(parse().entries[0].states, (std::vector<size_t>{1, 0}));
  entry["states"] = {2};
  expectContains(errorOf(parse), {"entries[0].states[0]", "[0, 2)"});
  entry["states"] = {0, 0};
  expectContains(errorOf(parse), {"entries[0]: state \"rows\" is there twice"});
  entry["states"] = {1};
  expectContains(errorOf(parse), {"\"capacity\"", "no input's"});
  json &state = description["states"][1];
  state["shape"] = {"capacity", "width"};
  expectContains(errorOf(parse), {"states[1].shape", "at most one size"});
  state["shape"] = {"capacity", int64_t(1) << 61};
  expectContains(errorOf(parse), {"states[1].shape", "overflow"});
  state["shape"] = {-1};
  expectContains(errorOf(parse), {"states[1].shape[0]", "-1"});
  state["shape"] = {1};
  state["name"] = "rows";
  expectContains(errorOf(parse), {"states[1].name", "\"rows\" is there twice"});
}

TEST(Module, ChecksMagicAndVersion) {
  tr_module module = fakeModule();
  module.abi_version = 1;
  expectContains(errorOf([&] { Module(module, "fake"); }), {"fake", "version 1", "runtime 5"});
  module.magic = 1;
  expectContains(errorOf([&] { Module(module, "fake"); }), {"not a compiled module"});
  expectContains(errorOf([] { Module::open("/none.so"); }), {"/none.so", "no such file"});
  expectContains(errorOf([] { Module(fakeModule(), "fake").entry("x"); }), {"\"x\"", "forward"});
}

// Whatever the text says then, the code was made for another one.
TEST(Module, EveryEditedByteOfItsDescription) {
  const std::string good = std::string(fakeDescription) + "{tokenizer}";
  for (size_t i = 0; i < good.size(); ++i) {
    std::string text = good;
    tr_module module = fakeModule(text, 11);
    text[i] = static_cast<char>(text[i] ^ 1);
    expectContains(errorOf([&] { Module(module, "fake"); }), {"fake: damaged", "description"});
  }
}

TEST(Description, TokenizerBehindIt) {
  json description = json::parse(fakeDescription);
  description.erase("tokenizer");
  std::string text = description.dump() + "{words}";
  EXPECT_EQ(Module(fakeModule(text, 7), "fake").description().tokenizer, "{words}");
}

} // namespace
