//===- DriverTest.cpp - memory, streams, graphs, errors that stay ---------===//
#include "test/emulator/tests/Support.h"

#include <cstring>

namespace emulator::tests {
namespace {

class DriverApi : public Emulated {
protected:
  // p0[0] += 1
  Handle increment(const std::string &before = "") {
    Handle module = nullptr, function = nullptr;
    std::string body = before + "ld.global.b32 %r1, [%a0]; add.u32 %r1, %r1, 1;"
                                "st.global.b32 [%a0], %r1;";
    EXPECT_EQ(cuModuleLoadData(&module, moduleOf(1, body).c_str()), success);
    EXPECT_EQ(cuModuleGetFunction(&function, module, "k"), success);
    return function;
  }
  int launchOn(Handle function, uint64_t argument, Handle stream) {
    void *parameters[] = {&argument};
    return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr);
  }
};

TEST_F(DriverApi, DeviceMemoryIsNotTheHosts) {
  uint64_t address = upload<uint32_t>({1, 2, 3});
  uint32_t number = 0;
  EXPECT_EQ(cuMemcpyHtoD_v2(address + 8, &number, 8), invalidValue); // beyond its end
  EXPECT_EQ(cuMemcpyHtoD_v2(address, reinterpret_cast<void *>(address), 4), invalidValue);
  EXPECT_EQ(cuMemcpyHtoD_v2(reinterpret_cast<uint64_t>(&number), &number, 4), invalidValue);
  EXPECT_DEATH(*reinterpret_cast<volatile uint32_t *>(address), "");
  EXPECT_EQ(cuMemFree_v2(address + 4), invalidValue);
  EXPECT_EQ(cuMemFree_v2(address), success);
  EXPECT_EQ(cuMemcpyDtoH_v2(&number, address, 4), invalidValue);
  EXPECT_EQ(cuMemFree_v2(address), invalidValue);
}

TEST_F(DriverApi, WhatWasNeverWrittenIsNotReadBack) {
  uint64_t from = allocate(16), to = allocate(16);
  uint32_t numbers[4] = {};
  EXPECT_EQ(cuMemsetD32_v2(from, 5, 3), success);
  EXPECT_EQ(cuMemcpyDtoH_v2(numbers, from, 12), success);
  EXPECT_EQ(cuMemcpyDtoH_v2(numbers, from, 16), illegalAddress);
  EXPECT_EQ(cuMemcpyDtoD_v2(to, from, 16), success); // may be, but stays what it is
  EXPECT_EQ(cuMemcpyDtoH_v2(numbers, to, 12), success);
  EXPECT_EQ(cuMemcpyDtoH_v2(numbers, to, 16), illegalAddress);
  EXPECT_EQ(numbers[2], 5u);
}

TEST_F(DriverApi, FaultsStayUntilTheContextIsReset) {
  uint64_t address = upload<uint32_t>({1});
  EXPECT_EQ(launch(moduleOf(1, "ld.global.b32 %r1, [%a0+64];"), {address}, 1, 1), illegalAddress);
  uint32_t number;
  EXPECT_EQ(cuMemcpyDtoH_v2(&number, address, 4), illegalAddress);
  const char *name = nullptr;
  EXPECT_EQ(cuGetErrorName(illegalAddress, &name), success);
  EXPECT_STREQ(name, "CUDA_ERROR_ILLEGAL_ADDRESS");
  cuDevicePrimaryCtxReset_v2(0);
  EXPECT_EQ(download<uint32_t>(upload<uint32_t>({3}), 1)[0], 3u);
}

TEST_F(DriverApi, StreamsRunWhenSomebodyWaits) {
  Handle stream = nullptr, function = increment();
  ASSERT_EQ(cuStreamCreate(&stream, 1),
            success); // does not wait for the null stream, nor that for it
  uint64_t address = upload<uint32_t>({7});
  ASSERT_EQ(launchOn(function, address, stream), success);
  EXPECT_EQ(download<uint32_t>(address, 1)[0], 7u);
  EXPECT_EQ(cuStreamSynchronize(stream), success);
  EXPECT_EQ(download<uint32_t>(address, 1)[0], 8u);
  // Pinned memory is read and written when the copy runs.
  uint32_t *pinned = nullptr;
  ASSERT_EQ(cuMemHostAlloc(reinterpret_cast<void **>(&pinned), 8, 0), success);
  pinned[0] = 20;
  pinned[1] = 0;
  ASSERT_EQ(cuMemcpyHtoDAsync_v2(address, &pinned[0], 4, stream), success);
  ASSERT_EQ(launchOn(function, address, stream), success);
  ASSERT_EQ(cuMemcpyDtoHAsync_v2(&pinned[1], address, 4, stream), success);
  EXPECT_EQ(pinned[1], 0u);
  pinned[0] = 30;
  EXPECT_EQ(cuStreamSynchronize(stream), success);
  EXPECT_EQ(pinned[1], 31u);
  EXPECT_EQ(cuMemFreeHost(pinned), success);
  // The null stream waits for those that are not told otherwise.
  Handle blocking = nullptr;
  ASSERT_EQ(cuStreamCreate(&blocking, 0), success);
  ASSERT_EQ(launchOn(function, address, blocking), success);
  EXPECT_EQ(download<uint32_t>(address, 1)[0], 32u);
  EXPECT_EQ(cuStreamDestroy_v2(blocking), success);
}

TEST_F(DriverApi, HostFunctionsRunInTheStreamsOrder) {
  Handle stream = nullptr, function = increment();
  ASSERT_EQ(cuStreamCreate(&stream, 1), success);
  struct {
    uint64_t address;
    uint32_t seen;
  } state = {upload<uint32_t>({7}), 0};
  auto look = [](void *data) {
    auto &it = *static_cast<decltype(state) *>(data);
    cuMemcpyDtoH_v2(&it.seen, it.address, 4);
  };
  ASSERT_EQ(launchOn(function, state.address, stream), success);
  ASSERT_EQ(cuLaunchHostFunc(stream, look, &state), success);
  ASSERT_EQ(launchOn(function, state.address, stream), success);
  EXPECT_EQ(state.seen, 0u);
  EXPECT_EQ(cuStreamSynchronize(stream), success);
  EXPECT_EQ(state.seen, 8u);
  EXPECT_EQ(download<uint32_t>(state.address, 1)[0], 9u);
}

TEST_F(DriverApi, AProcessOpensOneOfTheDevices) {
  environment("EMULATED_DEVICES", "2");
  int count = 0;
  EXPECT_EQ(cuDeviceGetCount(&count), success);
  EXPECT_EQ(count, 2);
  char ids[2][16];
  EXPECT_EQ(cuDeviceGetUuid(ids[0], 0), success);
  EXPECT_EQ(cuDeviceGetUuid(ids[1], 1), success);
  EXPECT_NE(std::memcmp(ids[0], ids[1], sizeof(ids[0])), 0);
  EXPECT_EQ(cuDeviceGetUuid(ids[1], 2), invalidDevice);
  Handle context = nullptr;
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 1), invalidDevice);
}

TEST_F(DriverApi, GraphsReplayWhatWasCaptured) {
  Handle stream = nullptr, graph = nullptr, executable = nullptr, function = increment();
  ASSERT_EQ(cuStreamCreate(&stream, 1), success);
  uint64_t address = upload<uint32_t>({0});
  ASSERT_EQ(cuStreamBeginCapture_v2(stream, 0), success);
  ASSERT_EQ(launchOn(function, address, stream), success);
  ASSERT_EQ(launchOn(function, address, stream), success);
  EXPECT_EQ(cuStreamSynchronize(stream), captureUnsupported);
  uint64_t other;
  EXPECT_EQ(cuMemAlloc_v2(&other, 4), captureUnsupported);
  ASSERT_EQ(cuStreamEndCapture(stream, &graph), success);
  ASSERT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), success);
  EXPECT_EQ(cuGraphDestroy(graph), success);
  EXPECT_EQ(cuStreamSynchronize(stream), success);
  EXPECT_EQ(download<uint32_t>(address, 1)[0], 0u);
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(cuGraphLaunch(executable, stream), success);
  EXPECT_EQ(cuStreamSynchronize(stream), success);
  EXPECT_EQ(download<uint32_t>(address, 1)[0], 6u);
  EXPECT_EQ(cuGraphExecDestroy(executable), success);
}

TEST_F(DriverApi, GraphsOfNodesWhoseParametersChange) {
  struct Node { // CUDA_KERNEL_NODE_PARAMS
    Handle function;
    unsigned grid[3], block[3], shared;
    void **parameters, **extra;
    Handle kernel, context;
  };
  uint64_t first = upload<uint32_t>({0}), second = upload<uint32_t>({0});
  Handle function = increment("griddepcontrol.wait;"), stream = nullptr, graph = nullptr,
         executable = nullptr;
  size_t offset = 9, size = 0;
  EXPECT_EQ(cuFuncGetParamInfo(function, 0, &offset, &size), success);
  EXPECT_EQ(offset, 0u);
  EXPECT_EQ(size, 8u);
  EXPECT_EQ(cuFuncGetParamInfo(function, 1, &offset, &size), invalidValue);
  auto nodeOf = [&](void **parameters) {
    return Node{function, {1, 1, 1}, {1, 1, 1}, 0, parameters, nullptr, nullptr, nullptr};
  };
  void *toFirst[] = {&first}, *toSecond[] = {&second};
  Node one = nodeOf(toFirst), other = nodeOf(toSecond);
  ASSERT_EQ(cuStreamCreate(&stream, 1), success);
  ASSERT_EQ(cuGraphCreate(&graph, 0), success);
  Handle nodes[2] = {};
  ASSERT_EQ(cuGraphAddKernelNode_v2(&nodes[0], graph, nullptr, 0, &one), success);
  Handle careless[2] = {}, racy = nullptr;
  Node unaware = one;
  unaware.function = increment();
  ASSERT_EQ(cuGraphCreate(&racy, 0), success);
  ASSERT_EQ(cuGraphAddKernelNode_v2(&careless[0], racy, nullptr, 0, &one), success);
  ASSERT_EQ(cuGraphAddKernelNode_v2(&careless[1], racy, nullptr, 0, &unaware), success);
  unsigned char early[8] = {1, 0, 1};
  EXPECT_EQ(cuGraphAddDependencies_v2(racy, &careless[0], &careless[1], early, 1), invalidValue);
  EXPECT_EQ(cuGraphDestroy(racy), success);
  ASSERT_EQ(cuGraphAddKernelNode_v2(&nodes[1], graph, nullptr, 0, &one), success);
  EXPECT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), invalidValue); // beside each other
  unsigned char plain[8] = {};
  EXPECT_EQ(cuGraphAddDependencies_v2(graph, &nodes[0], &nodes[1], plain, 1), invalidValue);
  EXPECT_EQ(cuGraphAddDependencies_v2(graph, &nodes[1], &nodes[0], early, 1), invalidValue);
  ASSERT_EQ(cuGraphAddDependencies_v2(graph, &nodes[0], &nodes[1], early, 1), success);
  ASSERT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), success);
  ASSERT_EQ(cuGraphLaunch(executable, stream), success);
  ASSERT_EQ(cuGraphExecKernelNodeSetParams_v2(executable, nodes[1], &other), success);
  ASSERT_EQ(cuGraphLaunch(executable, stream), success);
  EXPECT_EQ(cuStreamSynchronize(stream), success);
  EXPECT_EQ(download<uint32_t>(first, 1)[0], 3u);
  EXPECT_EQ(download<uint32_t>(second, 1)[0], 1u);
  EXPECT_EQ(cuGraphExecDestroy(executable), success);
}

TEST_F(DriverApi, Events) {
  Handle begin = nullptr, end = nullptr;
  ASSERT_EQ(cuEventCreate(&begin, 0), success);
  ASSERT_EQ(cuEventCreate(&end, 0), success);
  ASSERT_EQ(cuEventRecord(begin, nullptr), success);
  ASSERT_EQ(cuEventRecord(end, nullptr), success);
  ASSERT_EQ(cuEventSynchronize(end), success);
  float milliseconds = -1;
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, begin, end), success);
  EXPECT_GE(milliseconds, 0);
}

TEST_F(DriverApi, ShapesOfLaunchesAndLimits) {
  std::string ptx = moduleOf(0, "");
  ptx.insert(ptx.find(")\n{") + 1, "\n.maxntid 128, 1, 1");
  EXPECT_EQ(launch(ptx, {}, 1, 128), success) << said;
  EXPECT_EQ(launch(ptx, {}, 1, 129), invalidValue);
  EXPECT_EQ(launch(ptx, {}, 0, 32), invalidValue);
  EXPECT_EQ(launch(ptx, {}, 1, 32, 227 * 1024), success) << said;
  EXPECT_EQ(launch(ptx, {}, 1, 32, 228 * 1024), invalidValue);
  int major = 0;
  EXPECT_EQ(cuDeviceGetAttribute(&major, 75, 0), success);
  EXPECT_EQ(major, 9);
  environment("EMULATED_SM", "80");
  EXPECT_EQ(cuDeviceGetAttribute(&major, 75, 0), success);
  EXPECT_EQ(major, 8);
  environment("EMULATED_MEMORY", "1");
  uint64_t address;
  EXPECT_EQ(cuMemAlloc_v2(&address, 2 << 20), 2);
}

TEST_F(DriverApi, ModulesVariablesAndNames) {
  Handle module = nullptr, function = nullptr;
  std::string ptx = moduleOf(0, "", ".global .align 4 .u32 counter = 42;");
  ASSERT_EQ(cuModuleLoadData(&module, ptx.c_str()), success);
  EXPECT_EQ(cuModuleGetFunction(&function, module, "other"), notFound);
  uint64_t address = 0;
  size_t bytes = 0;
  ASSERT_EQ(cuModuleGetGlobal_v2(&address, &bytes, module, "counter"), success);
  EXPECT_EQ(bytes, 4u);
  EXPECT_EQ(download<uint32_t>(address, 1)[0], 42u);
  EXPECT_EQ(cuModuleUnload(module), success);
  char log[200] = {};
  int options[] = {5, 6};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
  EXPECT_EQ(cuModuleLoadDataEx(&module, moduleOf(0, "what;").c_str(), 2, options, values),
            invalidPtx);
  EXPECT_NE(std::strstr(log, "what: the emulator has no such instruction"), nullptr) << log;
  void *address2 = nullptr;
  int status = -1;
  EXPECT_EQ(cuGetProcAddress_v2("cuMemAlloc", &address2, 13000, 0, &status), success);
  EXPECT_EQ(address2, reinterpret_cast<void *>(&cuMemAlloc_v2));
  EXPECT_EQ(cuGetProcAddress_v2("cuNothing", &address2, 13000, 0, &status), notFound);
  cuCtxSetCurrent(nullptr);
  EXPECT_EQ(cuMemAlloc_v2(&address, 4), 201);
}

} // namespace
} // namespace emulator::tests
