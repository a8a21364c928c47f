#include "runtime/execute/State.h"
#include "test/runtime/FakeModule.h"
#include "test/runtime/TestSupport.h"

using namespace transformer::runtime;

namespace {

/// `append` writes a row at a position and counts calls; `sum` adds up what is there.
const std::string description = R"({"parameters": [], "slots": [],
  "states": [{"name": "rows", "dtype": "f32", "shape": ["capacity", 2]},
             {"name": "calls", "dtype": "i64", "shape": []}],
  "entries": [
    {"name": "append", "function": 0, "states": [0, 1], "outputs": [],
     "inputs": [{"name": "row", "dtype": "f32", "shape": [2]},
                {"name": "position", "dtype": "i32", "shape": [], "below": "capacity"}]},
    {"name": "sum", "function": 1, "states": [0], "inputs": [],
     "outputs": [{"name": "sums", "dtype": "f64", "shape": ["capacity"]}]}]})";

void append(const void *const *, const tr_tensor *io, void *) {
  EXPECT_EQ(reinterpret_cast<uintptr_t>(io[2].data) % bufferAlignment, 0u);
  EXPECT_EQ(io[2].sizes[1], 2);
  const auto *row = static_cast<const float *>(io[0].data);
  std::copy(row, row + 2,
            static_cast<float *>(io[2].data) + 2 * *static_cast<const int32_t *>(io[1].data));
  ++*static_cast<int64_t *>(io[3].data);
}

void sum(const void *const *, const tr_tensor *io, void *) {
  const auto *rows = static_cast<const float *>(io[0].data);
  for (int64_t i = 0; i < io[0].sizes[0]; ++i)
    static_cast<double *>(io[1].data)[i] = double(rows[2 * i]) + rows[2 * i + 1];
}

int64_t noArena(const void *const *, const tr_tensor *) { return 0; }

const tr_function functions[] = {{append, noArena}, {sum, noArena}};
const tr_module abi = moduleOf(description, functions);

class StateTest : public testing::Test {
protected:
  void append(State &state, int64_t position, const std::vector<float> &row) {
    TensorMap inputs;
    inputs["row"] = floats({2}, row);
    inputs["position"] = ints({}, {position});
    program.run("append", std::move(inputs), &state);
  }
  std::vector<double> sums(State &state) {
    return valuesOf<double>(program.run("sum", {}, &state).at("sums"));
  }
  State open(int64_t capacity) { return {module.description(), {{"capacity", capacity}}}; }

  TemporaryFolder folder;
  Module module{abi, "keeper"};
  Program program{module, Checkpoint()};
};

TEST_F(StateTest, IsKeptFromCallToCallForEachSession) {
  State one = open(3), other = open(2);
  append(one, 2, {1, 2});
  append(other, 0, {10, 20});
  append(one, 0, {5, 0});
  EXPECT_EQ(sums(one), (std::vector<double>{5, 0, 3}));
  EXPECT_EQ(sums(other), (std::vector<double>{30, 0}));
  EXPECT_EQ(valuesOf<int64_t>(one.tensors().at("calls")), std::vector<int64_t>{2});
  State moved = std::move(one);
  append(moved, 1, {1, 1});
  EXPECT_EQ(sums(moved), (std::vector<double>{5, 2, 3}));
  moved.reset();
  EXPECT_EQ(sums(moved), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(valuesOf<int64_t>(moved.tensors().at("calls")), std::vector<int64_t>{0});
}

TEST_F(StateTest, IsSavedAndRestored) {
  State state = open(2);
  append(state, 1, {1, 2});
  std::string file = folder.path("state.safetensors");
  state.save(file);
  append(state, 1, {7, 7});
  State restored = State::restore(module.description(), file);
  EXPECT_EQ(restored.sizes().at("capacity"), 2);
  append(restored, 0, {3, 3});
  EXPECT_EQ(sums(restored), (std::vector<double>{6, 3}));
  EXPECT_EQ(valuesOf<int64_t>(restored.tensors().at("calls")), std::vector<int64_t>{2});
}

TEST_F(StateTest, RefusesOtherFiles) {
  std::string file = folder.path("state.safetensors");
  auto errorWith = [&](const char *name, Tensor tensor) {
    TensorMap tensors;
    tensors["rows"] = floats({1, 2}, {1, 2});
    tensors["calls"] = ints({}, {1});
    tensors[name] = std::move(tensor);
    writeSafetensors(file, tensors);
    return errorOf([&] { State::restore(module.description(), file); });
  };
  expectContains(errorWith("rows", floats({1, 3}, {1, 2, 3})),
                 {file, "\"rows\"", "expected F32 [1, 2], found F32 [1, 3]"});
  expectContains(errorWith("rows", floats({2}, {1, 2})), {file, "expected F32 [2, 2]"});
  expectContains(errorWith("calls", floats({}, {1})), {"\"calls\"", "expected I64 []"});
  expectContains(errorWith("more", floats({}, {1})), {file, "keeps no state \"more\""});
  TensorMap none;
  writeSafetensors(file, none);
  expectContains(errorOf([&] { State::restore(module.description(), file); }),
                 {file, "missing state \"rows\""});
}

TEST_F(StateTest, CallsAreChecked) {
  State state = open(2);
  expectContains(errorOf([&] { append(state, 2, {1, 2}); }), {"position", "[0, 2)"});
  expectContains(errorOf([&] { append(state, -1, {1, 2}); }), {"position", "[0, 2)"});
  expectContains(errorOf([&] { append(state, int64_t(1) << 40, {1, 2}); }),
                 {"position", "expected I32"});
  expectContains(errorOf([&] { program.run("sum", {}); }), {"keeper", "sum", "\"rows\""});
  expectContains(errorOf([&] { State(module.description()); }),
                 {"\"rows\"", "how large \"capacity\" is"});
  expectContains(errorOf([&] { open(0); }), {"\"rows\"", "capacity is 0"});
  expectContains(errorOf([&] { open(int64_t(1) << 62); }), {"too large"});
  Call call = program.prepare("sum", {}, &state);
  state = open(1);
  expectContains(errorOf([&] { program.execute(call); }), {"\"rows\"", "another capacity"});
}

} // namespace
