#include "test/runtime/cuda/FakeDriver.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace transformer::runtime {
namespace {

using Entry = std::pair<const std::string, std::function<void(void **)>>;

FakeDriver &fake() { return FakeDriver::get(); }

char *at(CUdeviceptr address) {
  return FakeDriver::at<char>(reinterpret_cast<const void *>(address));
}

CUresult copy(void *to, const void *from, size_t bytes) {
  std::memcpy(to, from, bytes);
  fake().largestCopy = std::max(fake().largestCopy, bytes);
  return CUDA_SUCCESS;
}

size_t used() {
  size_t bytes = 0;
  for (const auto &[place, size] : fake().allocations)
    bytes += size;
  return bytes;
}

CUresult errorName(CUresult error, const char **name) {
  *name = error == CUDA_ERROR_NO_BINARY_FOR_GPU ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
          : error == 700                        ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : error == 701                        ? "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
                                                : nullptr;
  return CUDA_SUCCESS;
}

CUresult allocate(CUdeviceptr *address, size_t bytes) {
  if (used() + bytes > fake().memory)
    return CUDA_ERROR_OUT_OF_MEMORY;
  auto *place = static_cast<char *>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  fake().allocations[place] = bytes;
  *address = reinterpret_cast<uintptr_t>(place) ^ FakeDriver::tag;
  return CUDA_SUCCESS;
}

CUresult release(CUdeviceptr address) {
  fake().allocations.erase(at(address));
  std::free(at(address));
  return CUDA_SUCCESS;
}

CUresult loadImage(CUmodule *module, const void *image, unsigned, int *, void **) {
  std::string text = static_cast<const char *>(image);
  if (text.rfind("cubin", 0) == 0 && !fake().takesMachineCode)
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  fake().image = text.substr(0, text.find(' '));
  *module = reinterpret_cast<CUmodule>(&fake());
  return CUDA_SUCCESS;
}

CUresult findKernel(CUfunction *function, CUmodule, const char *name) {
  auto found = fake().kernels.find(name);
  if (found == fake().kernels.end())
    return 500;
  *function = reinterpret_cast<CUfunction>(&*found);
  return CUDA_SUCCESS;
}

CUresult launch(CUfunction function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                unsigned, CUstream, void **arguments, void **) {
  auto &[name, body] = *reinterpret_cast<Entry *>(function);
  if (name == fake().failingKernel)
    return 701;
  fake().launches.push_back(name);
  body(arguments);
  return CUDA_SUCCESS;
}

CUresult parameterInfo(CUfunction function, size_t index, size_t *offset, size_t *bytes) {
  if (index >= size_t(fake().parameters[reinterpret_cast<Entry *>(function)->first]))
    return 1;
  *offset = 8 * index;
  *bytes = 8;
  return CUDA_SUCCESS;
}

/// Nodes with copies of their arguments, 8 bytes each.
struct Graph {
  struct Node {
    CUfunction function;
    std::vector<int64_t> arguments;
  };
  std::vector<Node> nodes;
  size_t edges = 0;
};

Graph::Node nodeOf(const CudaKernelNode &kernel) {
  Graph::Node node{kernel.function, {}};
  auto count = size_t(fake().parameters[reinterpret_cast<Entry *>(kernel.function)->first]);
  for (size_t i = 0; i < count; ++i)
    std::memcpy(&node.arguments.emplace_back(), kernel.arguments[i], 8);
  return node;
}

Graph &graphOf(void *handle) { return *static_cast<Graph *>(handle); }

CUresult destroyGraph(void *handle) {
  --fake().graphs;
  delete &graphOf(handle);
  return CUDA_SUCCESS;
}

CUresult launchGraph(CUgraphExec executable, CUstream stream) {
  fake().launches.push_back("graph");
  for (Graph::Node &node : graphOf(executable).nodes) {
    std::vector<void *> arguments;
    for (int64_t &argument : node.arguments)
      arguments.push_back(&argument);
    launch(node.function, 1, 1, 1, 1, 1, 1, 0, stream, arguments.data(), nullptr);
  }
  return CUDA_SUCCESS;
}

void addGraphs(CudaDriver &driver) {
  driver.cuFuncGetParamInfo = parameterInfo;
  driver.cuGraphCreate = [](CUgraph *graph, unsigned) {
    ++fake().graphs;
    return *graph = reinterpret_cast<CUgraph>(new Graph), CUDA_SUCCESS;
  };
  driver.cuGraphAddKernelNode = [](CUgraphNode *node, CUgraph graph, const CUgraphNode *,
                                   size_t dependencies, const CudaKernelNode *kernel) {
    auto &nodes = graphOf(graph).nodes;
    if (dependencies > (nodes.empty() ? 0u : 1u))
      return 1;
    graphOf(graph).edges += dependencies;
    nodes.push_back(nodeOf(*kernel));
    *node = reinterpret_cast<CUgraphNode>(nodes.size());
    return CUDA_SUCCESS;
  };
  driver.cuGraphAddDependencies = [](CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                     const CudaGraphEdge *edges, size_t count) {
    bool isEarly = count == 1 && edges->from == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC &&
                   edges->type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
    if (!isEarly || reinterpret_cast<uintptr_t>(*from) + 1 != reinterpret_cast<uintptr_t>(*to))
      return 1;
    ++graphOf(graph).edges;
    ++fake().earlyEdges;
    return CUDA_SUCCESS;
  };
  driver.cuGraphInstantiate = [](CUgraphExec *executable, CUgraph graph, unsigned long long) {
    if (graphOf(graph).edges + 1 != graphOf(graph).nodes.size())
      return 1;
    ++fake().graphs;
    return *executable = reinterpret_cast<CUgraphExec>(new Graph(graphOf(graph))), CUDA_SUCCESS;
  };
  driver.cuGraphExecKernelNodeSetParams = [](CUgraphExec executable, CUgraphNode node,
                                             const CudaKernelNode *kernel) {
    ++fake().changes;
    if (!fake().changesNodes)
      return 1;
    graphOf(executable).nodes[reinterpret_cast<uintptr_t>(node) - 1] = nodeOf(*kernel);
    return CUDA_SUCCESS;
  };
  driver.cuGraphLaunch = launchGraph;
  driver.cuGraphDestroy = [](CUgraph graph) { return destroyGraph(graph); };
  driver.cuGraphExecDestroy = [](CUgraphExec graph) { return destroyGraph(graph); };
}

CudaDriver makeDriver() {
  CudaDriver driver;
  driver.cuInit = [](unsigned) { return CUDA_SUCCESS; };
  driver.cuGetErrorName = errorName;
  driver.cuDeviceGetCount = [](int *count) { return *count = 1, CUDA_SUCCESS; };
  driver.cuDeviceGet = [](CUdevice *device, int) { return *device = 0, CUDA_SUCCESS; };
  driver.cuDeviceGetName = [](char *name, int length, CUdevice) {
    return std::snprintf(name, size_t(length), "Fake"), CUDA_SUCCESS;
  };
  driver.cuDeviceGetAttribute = [](int *value, int attribute, CUdevice) {
    bool major = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
    *value = major ? fake().capability / 10 : fake().capability % 10;
    return CUDA_SUCCESS;
  };
  driver.cuTensorMapEncodeTiled = [](void *map, int, unsigned, void *memory, const uint64_t *sizes,
                                     const uint64_t *strides, const uint32_t *, const uint32_t *,
                                     int, int, int, int) {
    ++fake().tensorMaps;
    auto *words = static_cast<uint64_t *>(map);
    words[0] = reinterpret_cast<uintptr_t>(memory);
    words[1] = sizes[0];
    words[2] = sizes[1];
    words[3] = strides[0];
    return reinterpret_cast<uintptr_t>(memory) % 16 ? 1 : CUDA_SUCCESS;
  };
  driver.cuDevicePrimaryCtxRetain = [](CUcontext *, CUdevice) { return CUDA_SUCCESS; };
  driver.cuDevicePrimaryCtxRelease = [](CUdevice) { return CUDA_SUCCESS; };
  driver.cuCtxSetCurrent = [](CUcontext) { return CUDA_SUCCESS; };
  driver.cuModuleLoadDataEx = loadImage;
  driver.cuModuleUnload = [](CUmodule) { return CUDA_SUCCESS; };
  driver.cuModuleGetFunction = findKernel;
  driver.cuFuncSetAttribute = [](CUfunction, int, int) { return CUDA_SUCCESS; };
  driver.cuLaunchKernel = launch;
  driver.cuMemAlloc = allocate;
  driver.cuMemFree = release;
  driver.cuMemGetInfo = [](size_t *free, size_t *total) {
    *total = fake().memory;
    *free = fake().memory - used();
    return CUDA_SUCCESS;
  };
  driver.cuMemAllocHost = [](void **memory, size_t bytes) {
    return *memory = std::malloc(bytes), CUDA_SUCCESS;
  };
  driver.cuMemFreeHost = [](void *memory) { return std::free(memory), CUDA_SUCCESS; };
  driver.cuMemcpyHtoDAsync = [](CUdeviceptr to, const void *from, size_t bytes, CUstream) {
    return copy(at(to), from, bytes);
  };
  driver.cuMemcpyDtoHAsync = [](void *to, CUdeviceptr from, size_t bytes, CUstream) {
    return copy(to, at(from), bytes);
  };
  driver.cuMemcpyDtoDAsync = [](CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream) {
    return copy(at(to), at(from), bytes);
  };
  driver.cuMemsetD8Async = [](CUdeviceptr memory, unsigned char value, size_t bytes, CUstream) {
    return std::memset(at(memory), value, bytes), CUDA_SUCCESS;
  };
  driver.cuStreamCreate = [](CUstream *, unsigned) { return CUDA_SUCCESS; };
  driver.cuStreamSynchronize = [](CUstream) {
    ++fake().waits;
    return std::exchange(fake().failure, CUDA_SUCCESS);
  };
  driver.cuStreamQuery = [](CUstream) { return std::exchange(fake().failure, CUDA_SUCCESS); };
  driver.cuStreamDestroy = [](CUstream) { return CUDA_SUCCESS; };
  driver.cuEventCreate = [](CUevent *, unsigned) { return CUDA_SUCCESS; };
  driver.cuEventRecord = [](CUevent, CUstream) { return CUDA_SUCCESS; };
  driver.cuEventSynchronize = [](CUevent) { return CUDA_SUCCESS; };
  driver.cuEventDestroy = [](CUevent) { return CUDA_SUCCESS; };
  driver.cuEventElapsedTime = [](float *milliseconds, CUevent, CUevent) {
    return *milliseconds = 0, CUDA_SUCCESS;
  };
  addGraphs(driver);
  return driver;
}

} // namespace

FakeDriver &FakeDriver::get() {
  static FakeDriver fake;
  return fake;
}

const CudaDriver &FakeDriver::driver() {
  static const CudaDriver driver = makeDriver();
  return driver;
}

} // namespace transformer::runtime
