#include "runtime/cuda/Device.h"
#include "runtime/execute/Program.h"
#include "runtime/files/Safetensors.h"
#include "test/runtime/FakeModule.h"
#include "test/runtime/TestSupport.h"
#include "test/runtime/cuda/FakeDriver.h"

#include <numeric>

using namespace transformer::runtime;

namespace {

using Names = std::vector<std::string>;

/// `forward`: y[t, k] = x[t, k] * (2 * weight[k] + bias[k]) of the mask's tokens, which it counts
/// on the host, and a state that counts calls. The doubled weight is prepared.
const std::string description = R"({
  "target": {"kind": "cuda", "arch": "sm_80", "cpu": "any", "features": []},
  "parameters": [{"name": "weight", "dtype": "f32", "shape": [2]},
                 {"name": "bias", "dtype": "f32", "shape": [2]}],
  "prepared": [{"name": "doubled", "function": 1, "sources": [0], "dtype": "f32", "shape": [2]}],
  "slots": [{"kind": "prepared", "index": 0}, {"kind": "parameter", "index": 1}],
  "states": [{"name": "calls", "dtype": "f32", "shape": ["rows", 2]}],
  "entries": [{"name": "forward", "function": 0, "states": [0], "host_inputs": [1],
    "inputs": [{"name": "x", "dtype": "f32", "shape": ["tokens", 2]},
               {"name": "mask", "dtype": "i64", "shape": ["tokens"]}],
    "outputs": [{"name": "y", "dtype": "f32", "shape": ["tokens", 2]}]}]})";

const tr_grid one = {{1, 1, 1}, {32, 1, 1}, 0};

void forward(const void *const *slots, const tr_tensor *io, void *arena) {
  const auto *mask = static_cast<const int64_t *>(io[4].data); // the host's
  int64_t tokens = std::count(mask, mask + io[4].sizes[0], 1);
  const void *weight = slots[0], *bias = slots[1];
  const void *copy[] = {&io[0].data, &arena, &tokens};
  tr_launch(0, &one, const_cast<void **>(copy), nullptr, nullptr);
  const void *multiply[] = {&arena, &weight, &bias, &io[3].data, &tokens};
  tr_launch(1, &one, const_cast<void **>(multiply), nullptr, nullptr);
  const void *count[] = {&io[2].data};
  tr_launch(2, &one, const_cast<void **>(count), nullptr, nullptr);
}

int64_t forwardArena(const void *const *, const tr_tensor *io) { return 8 * io[0].sizes[0]; }

void prepare(const void *const *sources, const tr_tensor *result, void *) {
  const void *arguments[] = {&sources[0], &result->data};
  tr_launch(3, &one, const_cast<void **>(arguments), nullptr, nullptr);
}

int64_t noArena(const void *const *, const tr_tensor *) { return 0; }

const tr_function functions[] = {{forward, forwardArena}, {prepare, noArena}};
const char *const kernelNames[] = {"copy", "multiply", "count", "double"};
const char ptx[] = "ptx of it", cubin[] = "cubin of it";

/// Argument `i` of a kernel, an address of the device.
float *buffer(void **arguments, int i) {
  return FakeDriver::at<float>(*static_cast<void **>(arguments[i]));
}
int64_t number(void **arguments, int i) { return *static_cast<int64_t *>(arguments[i]); }

class DeviceTest : public testing::Test {
protected:
  DeviceTest() {
    FakeDriver::reset();
    fake().kernels = {
        {"copy", [](void **a) { std::copy_n(buffer(a, 0), 2 * number(a, 2), buffer(a, 1)); }},
        {"multiply",
         [](void **a) {
           for (int64_t i = 0; i < 2 * number(a, 4); ++i)
             buffer(a, 3)[i] = buffer(a, 0)[i] * (buffer(a, 1)[i % 2] + buffer(a, 2)[i % 2]);
         }},
        {"count", [](void **a) { ++buffer(a, 0)[0]; }},
        {"double", [](void **a) {
           for (int i = 0; i < 2; ++i)
             buffer(a, 1)[i] = 2 * buffer(a, 0)[i];
         }}};
    fake().parameters = {{"copy", 3}, {"multiply", 5}, {"count", 1}, {"double", 2}};
    TensorMap weights;
    weights["weight"] = floats({2}, {1, 2});
    weights["bias"] = floats({2}, {10, 20});
    writeSafetensors(folder.path("model.safetensors"), weights);
  }

  static FakeDriver &fake() { return FakeDriver::get(); }

  std::shared_ptr<Device> open(const std::string &arch = "sm_80") {
    return std::make_shared<Device>(FakeDriver::driver(), DeviceModule{"fake", arch, &code});
  }
  Program program() { return {module, open(), Checkpoint::open(folder.path())}; }
  static TensorMap inputs(int64_t tokens) {
    TensorMap result;
    std::vector<float> x(size_t(2 * tokens));
    std::iota(x.begin(), x.end(), 1.0f);
    result["x"] = floats({tokens, 2}, x);
    result["mask"] = ints({tokens}, std::vector<int64_t>(size_t(tokens), 1));
    return result;
  }

  tr_device_code code = {ptx, sizeof(ptx), cubin, sizeof(cubin), kernelNames, 4, 0};
  tr_device_module abi = {moduleOf(description, functions), &code};
  Module module{abi.module, "fake"};
  TemporaryFolder folder;
};

TEST_F(DeviceTest, RunsAModuleWhoseTensorsLieThere) {
  State state(module.description(), {{"rows", 1}});
  {
    Program ready = program();
    EXPECT_EQ(fake().launches, Names{"double"});
    EXPECT_EQ(fake().allocations.size(), 1u); // weights alone: sources have gone
    fake().launches.clear();
    Tensor y = std::move(ready.run("forward", inputs(2), &state).at("y"));
    EXPECT_EQ(valuesOf<float>(y), (std::vector<float>{12, 48, 36, 96}));
    EXPECT_EQ(fake().launches, (Names{"copy", "multiply", "count"}));
    EXPECT_EQ(ready.run("forward", inputs(5), &state).at("y").data<float>()[9], 240);
  }
  EXPECT_EQ(valuesOf<float>(state.tensors().at("calls")), (std::vector<float>{2, 0}));
  state = {};
  EXPECT_TRUE(fake().allocations.empty());
}

TEST_F(DeviceTest, CountsOnTheHost) {
  Program ready = program();
  State state(module.description(), {{"rows", 1}});
  TensorMap given = inputs(2);
  given["mask"] = ints({2}, {1, 0});
  Call call = ready.prepare("forward", std::move(given), &state);
  ready.execute(call);
  EXPECT_EQ(call.outputs[0].data<float>()[1], 48); // the second token is not written
}

TEST_F(DeviceTest, StatesStayUntilSomebodyLooks) {
  Program ready = program();
  State state(module.description(), {{"rows", 2}});
  ready.run("forward", inputs(1), &state);
  ready.run("forward", inputs(1), &state);
  EXPECT_TRUE(state.isOnDevice(0));
  std::string file = folder.path("state.safetensors");
  state.save(file);
  EXPECT_FALSE(state.isOnDevice(0));
  State restored = State::restore(module.description(), file);
  ready.run("forward", inputs(1), &restored);
  EXPECT_EQ(restored.tensor(0).data<float>()[0], 3);
  state.tensor(0).data<float>()[0] = 40; // the host's is the newest then
  ready.run("forward", inputs(1), &state);
  state.copyOnDevice(0, /*to=*/8, /*from=*/0, /*bytes=*/8);
  EXPECT_EQ(valuesOf<float>(state.tensors().at("calls")), (std::vector<float>{41, 0, 41, 0}));
  state.reset();
  ready.run("forward", inputs(1), &state);
  EXPECT_EQ(valuesOf<float>(state.tensors().at("calls")), (std::vector<float>{1, 0, 0, 0}));
}

TEST_F(DeviceTest, CallsThatRepeatAreOneLaunch) {
  const Names plain = {"copy", "multiply", "count"}, graph = {"graph", "copy", "multiply", "count"};
  {
    Program ready = program();
    State state(module.description(), {{"rows", 1}});
    auto launches = [&](int64_t tokens, float expected) {
      fake().launches.clear();
      Tensor y = std::move(ready.run("forward", inputs(tokens), &state).at("y"));
      EXPECT_EQ(y.data<float>()[2 * tokens - 1], expected);
      return fake().launches;
    };
    EXPECT_EQ(launches(5, 240), plain);
    EXPECT_EQ(launches(5, 240), plain);
    EXPECT_EQ(launches(5, 240), graph);
    EXPECT_EQ(fake().changes, 0u);
    EXPECT_EQ(fake().earlyEdges, 0);
    EXPECT_EQ(launches(2, 96), graph); // the number of tokens, where outputs lie
    EXPECT_EQ(fake().changes, 2u);
    EXPECT_EQ(launches(2, 96), graph);
    EXPECT_EQ(fake().changes, 2u);
    fake().changesNodes = false; // then it is launched as before
    EXPECT_EQ(launches(5, 240), plain);
    EXPECT_EQ(valuesOf<float>(state.tensors().at("calls")), (std::vector<float>{6, 0}));
  }
  EXPECT_EQ(fake().graphs, 0u);
}

TEST_F(DeviceTest, KernelsThatWaitAreStartedEarly) {
  code.waits = 1;
  Program ready = program();
  State state(module.description(), {{"rows", 1}});
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(ready.run("forward", inputs(5), &state).at("y").data<float>()[9], 240);
  EXPECT_EQ(fake().launches.back(), "count");
  EXPECT_EQ(fake().earlyEdges, 2); // between three kernels
}

TEST_F(DeviceTest, ZeroesAStateThere) {
  Program ready = program();
  State state(module.description(), {{"rows", 1}});
  EXPECT_FALSE(state.zeroOnDevice(0));
  ready.run("forward", inputs(1), &state);
  EXPECT_TRUE(state.zeroOnDevice(0));
  ready.run("forward", inputs(1), &state);
  EXPECT_EQ(state.tensor(0).data<float>()[0], 1);
}

TEST_F(DeviceTest, CopiesInPieces) {
  std::shared_ptr<Device> device = open();
  std::vector<int> numbers(5 << 20), back(numbers.size()); // 20 MiB
  std::iota(numbers.begin(), numbers.end(), 0);
  size_t bytes = 4 * numbers.size();
  DeviceMemory memory(device, bytes, "a test");
  device->upload(memory.data(), numbers.data(), 3);
  device->upload(memory.data(), numbers.data(), bytes);
  device->download(back.data(), memory.data(), bytes);
  EXPECT_EQ(numbers, back);
  EXPECT_LE(fake().largestCopy, size_t(4) << 20);
}

TEST_F(DeviceTest, ChoosesMachineCodeOrPtx) {
  for (auto [capability, takes, image] : std::vector<std::tuple<int, bool, std::string>>{
           {80, true, "cubin"}, {89, true, "cubin"}, {80, false, "ptx"}, {90, true, "ptx"}}) {
    fake().capability = capability;
    fake().takesMachineCode = takes;
    open();
    EXPECT_EQ(fake().image, image) << capability;
  }
  code.ptx = nullptr;
  expectContains(errorOf([&] { open(); }), {"neither machine code", "Fake, sm_90", "nor PTX"});
  code.ptx = ptx;
  code.cubin = nullptr;
  open();
  EXPECT_EQ(fake().image, "ptx");
}

TEST_F(DeviceTest, RefusesOtherGpus) {
  fake().capability = 75;
  expectContains(errorOf([&] { open(); }),
                 {"compiled for sm_80 and later", "(Fake) is sm_75", "\n", "--target cpu"});
  fake().capability = 100;
  expectContains(errorOf([&] { open("sm_90a"); }), {"compiled for sm_90a, but", "sm_100"});
  fake().capability = 90;
  open("sm_90a");
  for (const char *arch : {"", "80", "sm_", "sm_9z", "sm_90ab"})
    expectContains(errorOf([&] { open(arch); }), {"does not know"});
}

TEST_F(DeviceTest, NamesTheKernelThatFails) {
  Program ready = program();
  State state(module.description(), {{"rows", 1}});
  fake().failingKernel = "multiply";
  fake().launches.clear();
  expectContains(errorOf([&] { ready.run("forward", inputs(1), &state); }),
                 {"fake: on Fake: kernel multiply, 1 x 1 x 1 blocks of 32 x 1 x 1 threads",
                  "cuLaunchKernel: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"});
  EXPECT_EQ(fake().launches, Names{"copy"}); // nothing behind it
  fake().failingKernel.clear();
  fake().failure = 700;
  expectContains(errorOf([&] { ready.run("forward", inputs(1), &state); }),
                 {"a kernel failed", "CUDA_ERROR_ILLEGAL_ADDRESS", "CUDA_LAUNCH_BLOCKING=1"});
  EXPECT_EQ(ready.run("forward", inputs(1), &state).at("y").data<float>()[0], 12);
}

TEST_F(DeviceTest, WaitsForEachKernelWhenAsked) {
  setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  Program ready = program();
  unsetenv("CUDA_LAUNCH_BLOCKING");
  State state(module.description(), {{"rows", 1}});
  fake().failure = 700;
  expectContains(errorOf([&] { ready.run("forward", inputs(1), &state); }),
                 {"kernel copy, ", "cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS"});
  for (int i = 0; i < 3; ++i)
    ready.run("forward", inputs(1), &state);
  EXPECT_EQ(fake().graphs, 0u);
}

TEST_F(DeviceTest, SaysWhatThereIsNoMemoryFor) {
  fake().memory = 600;
  Program ready = program();
  State state(module.description(), {{"rows", 1}});
  expectContains(errorOf([&] { ready.run("forward", inputs(1000), &state); }),
                 {"Fake: no memory for a call's inputs and outputs", "MiB asked for"});
  fake().memory = 100;
  expectContains(errorOf([&] { program(); }), {"no memory for weights"});
}

TEST_F(DeviceTest, PackedWeightsAreForCpus) {
  Program ready(module, open(), Checkpoint::open(folder.path()), folder.path("packed"));
  expectContains(ready.notice(), {"note: --packed-weights"});
  EXPECT_EQ(folder.count(), 1u);
}

TEST(Description, KnowsKindsOfMachines) {
  std::string text = description;
  text.replace(text.find("cuda"), 4, "opel");
  tr_module abi = moduleOf(text, functions);
  expectContains(errorOf([&] { Module(abi, "fake"); }),
                 {"target.kind", "\"opel\"", "expected cpu or cuda"});
  text = description;
  text.replace(text.find("\"host_inputs\": [1]"), 18, "\"host_inputs\": [2]");
  tr_module other = moduleOf(text, functions);
  expectContains(errorOf([&] { Module(other, "fake"); }), {"host_inputs[0]", "[0, 2)"});
}

} // namespace
