//===- Driver.h - NVIDIA's driver, as far as we use it ----------*- C++ -*-===//
//
// libcuda.so.1 is part of the driver and found when a program starts; building
// needs no CUDA toolkit, so its types and functions are declared here.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_CUDA_DRIVER_H
#define TRANSFORMER_RUNTIME_CUDA_DRIVER_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace transformer::runtime {

/// Types of the driver: handles are pointers to what only it knows.
using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;
using CUgraph = struct CUgraph_st *;
using CUgraphNode = struct CUgraphNode_st *;
using CUgraphExec = struct CUgraphExec_st *;

/// CUuuid: no two GPUs have the same, wherever they are; the instances of one (MIG) do.
using GpuId = std::array<char, 16>;

/// CUDA_KERNEL_NODE_PARAMS, its second version.
struct CudaKernelNode {
  CUfunction function;
  unsigned blocks[3], threads[3], sharedBytes;
  void **arguments, **extra;
  void *kernel, *context;
};

/// CUgraphEdgeData
struct CudaGraphEdge {
  unsigned char from, to, type, reserved[5];
};

// Numbers of cuda.h.
constexpr CUresult CUDA_SUCCESS = 0, CUDA_ERROR_OUT_OF_MEMORY = 2, CUDA_ERROR_NO_DEVICE = 100,
                   CUDA_ERROR_NO_BINARY_FOR_GPU = 209, CUDA_ERROR_NOT_READY = 600;
constexpr int CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
              CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
              CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76;
constexpr int CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8;
constexpr int CU_JIT_ERROR_LOG_BUFFER = 5, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6;
constexpr int CU_TENSOR_MAP_DATA_TYPE_UINT16 = 1, CU_TENSOR_MAP_INTERLEAVE_NONE = 0,
              CU_TENSOR_MAP_SWIZZLE_128B = 3, CU_TENSOR_MAP_L2_PROMOTION_L2_128B = 2,
              CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0;
constexpr unsigned char CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC = 1,
                        CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC = 1;
constexpr unsigned CU_STREAM_NON_BLOCKING = 1, CU_EVENT_DISABLE_TIMING = 2;

/// FUNCTION(name, symbol, parameters)
#define TRANSFORMER_CUDA_FUNCTIONS(FUNCTION)                                                       \
  FUNCTION(cuInit, "cuInit", (unsigned flags))                                                     \
  FUNCTION(cuGetErrorName, "cuGetErrorName", (CUresult error, const char **name))                  \
  FUNCTION(cuDeviceGetCount, "cuDeviceGetCount", (int *count))                                     \
  FUNCTION(cuDeviceGet, "cuDeviceGet", (CUdevice * device, int ordinal))                           \
  FUNCTION(cuDeviceGetName, "cuDeviceGetName", (char *name, int length, CUdevice device))          \
  FUNCTION(cuDeviceGetAttribute, "cuDeviceGetAttribute",                                           \
           (int *value, int attribute, CUdevice device))                                           \
  FUNCTION(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain",                                   \
           (CUcontext * context, CUdevice device))                                                 \
  FUNCTION(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (CUdevice device))           \
  FUNCTION(cuCtxSetCurrent, "cuCtxSetCurrent", (CUcontext context))                                \
  FUNCTION(cuModuleLoadDataEx, "cuModuleLoadDataEx",                                               \
           (CUmodule * module, const void *image, unsigned options, int *names, void **values))    \
  FUNCTION(cuModuleUnload, "cuModuleUnload", (CUmodule module))                                    \
  FUNCTION(cuModuleGetFunction, "cuModuleGetFunction",                                             \
           (CUfunction * function, CUmodule module, const char *name))                             \
  FUNCTION(cuFuncSetAttribute, "cuFuncSetAttribute",                                               \
           (CUfunction function, int attribute, int value))                                        \
  FUNCTION(cuLaunchKernel, "cuLaunchKernel",                                                       \
           (CUfunction function, unsigned blocksX, unsigned blocksY, unsigned blocksZ,             \
            unsigned threadsX, unsigned threadsY, unsigned threadsZ, unsigned sharedBytes,         \
            CUstream stream, void **arguments, void **extra))                                      \
  FUNCTION(cuMemAlloc, "cuMemAlloc_v2", (CUdeviceptr * memory, size_t bytes))                      \
  FUNCTION(cuMemFree, "cuMemFree_v2", (CUdeviceptr memory))                                        \
  FUNCTION(cuMemGetInfo, "cuMemGetInfo_v2", (size_t *free, size_t *total))                         \
  FUNCTION(cuMemAllocHost, "cuMemAllocHost_v2", (void **memory, size_t bytes))                     \
  FUNCTION(cuMemFreeHost, "cuMemFreeHost", (void *memory))                                         \
  FUNCTION(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2",                                              \
           (CUdeviceptr to, const void *from, size_t bytes, CUstream stream))                      \
  FUNCTION(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2",                                              \
           (void *to, CUdeviceptr from, size_t bytes, CUstream stream))                            \
  FUNCTION(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2",                                              \
           (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))                      \
  FUNCTION(cuMemsetD8Async, "cuMemsetD8Async",                                                     \
           (CUdeviceptr memory, unsigned char value, size_t bytes, CUstream stream))               \
  FUNCTION(cuStreamCreate, "cuStreamCreate", (CUstream * stream, unsigned flags))                  \
  FUNCTION(cuStreamQuery, "cuStreamQuery", (CUstream stream))                                      \
  FUNCTION(cuStreamSynchronize, "cuStreamSynchronize", (CUstream stream))                          \
  FUNCTION(cuStreamDestroy, "cuStreamDestroy_v2", (CUstream stream))                               \
  FUNCTION(cuEventCreate, "cuEventCreate", (CUevent * event, unsigned flags))                      \
  FUNCTION(cuEventRecord, "cuEventRecord", (CUevent event, CUstream stream))                       \
  FUNCTION(cuEventSynchronize, "cuEventSynchronize", (CUevent event))                              \
  FUNCTION(cuEventElapsedTime, "cuEventElapsedTime",                                               \
           (float *milliseconds, CUevent begin, CUevent end))                                      \
  FUNCTION(cuEventDestroy, "cuEventDestroy_v2", (CUevent event))

/// Of CUDA 12.4 and later, for graphs: all of them, or none is used.
#define TRANSFORMER_CUDA_GRAPH_FUNCTIONS(FUNCTION)                                                 \
  FUNCTION(cuFuncGetParamInfo, "cuFuncGetParamInfo",                                               \
           (CUfunction function, size_t index, size_t *offset, size_t *bytes))                     \
  FUNCTION(cuGraphCreate, "cuGraphCreate", (CUgraph * graph, unsigned flags))                      \
  FUNCTION(cuGraphDestroy, "cuGraphDestroy", (CUgraph graph))                                      \
  FUNCTION(cuGraphAddKernelNode, "cuGraphAddKernelNode_v2",                                        \
           (CUgraphNode * node, CUgraph graph, const CUgraphNode *dependencies, size_t count,      \
            const CudaKernelNode *kernel))                                                         \
  FUNCTION(cuGraphInstantiate, "cuGraphInstantiateWithFlags",                                      \
           (CUgraphExec * executable, CUgraph graph, unsigned long long flags))                    \
  FUNCTION(cuGraphExecKernelNodeSetParams, "cuGraphExecKernelNodeSetParams_v2",                    \
           (CUgraphExec executable, CUgraphNode node, const CudaKernelNode *kernel))               \
  FUNCTION(cuGraphLaunch, "cuGraphLaunch", (CUgraphExec executable, CUstream stream))              \
  FUNCTION(cuGraphExecDestroy, "cuGraphExecDestroy", (CUgraphExec executable))

/// Of CUDA 12.3 and later, for kernels that are started early; null where it is not there.
#define TRANSFORMER_CUDA_EDGE_FUNCTIONS(FUNCTION)                                                  \
  FUNCTION(cuGraphAddDependencies, "cuGraphAddDependencies_v2",                                    \
           (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,                         \
            const CudaGraphEdge *edges, size_t count))

/// Of CUDA 12 and later, for GPUs that copy boxes of tensors; null where it is not there.
#define TRANSFORMER_CUDA_TENSOR_FUNCTIONS(FUNCTION)                                                \
  FUNCTION(cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled",                                       \
           (void *map, int type, unsigned rank, void *memory, const uint64_t *sizes,               \
            const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave,   \
            int swizzle, int promotion, int fill))

/// For processes that train together; null where it is not there.
#define TRANSFORMER_CUDA_IDENTITY_FUNCTIONS(FUNCTION)                                              \
  FUNCTION(cuDeviceGetUuid, "cuDeviceGetUuid", (GpuId * id, CUdevice device))

/// The driver's functions. Tests put others there.
struct CudaDriver {
#define FUNCTION(name, symbol, parameters) CUresult(*name) parameters = nullptr;
  TRANSFORMER_CUDA_FUNCTIONS(FUNCTION)
  TRANSFORMER_CUDA_GRAPH_FUNCTIONS(FUNCTION)
  TRANSFORMER_CUDA_EDGE_FUNCTIONS(FUNCTION)
  TRANSFORMER_CUDA_TENSOR_FUNCTIONS(FUNCTION)
  TRANSFORMER_CUDA_IDENTITY_FUNCTIONS(FUNCTION)
#undef FUNCTION

  /// Whether it has the functions for graphs.
  bool hasGraphs() const;

  /// This machine's driver, loaded and initialised once. Throws Error when there is none, it lacks
  /// a function, or it finds no GPU; `reason` of the message does not say what needs it.
  static const CudaDriver &get();

  /// Throws Error "CALL: CUDA_ERROR_..." when `result` is one.
  void check(CUresult result, const std::string &call) const;
  /// "CUDA_ERROR_INVALID_VALUE"
  std::string errorName(CUresult result) const;
};

/// A GPU of this machine.
struct Gpu {
  CUdevice device = 0;
  std::string name;
  int capability = 0; // 80: of sm_80
  int multiprocessors = 0;
};

/// Of those that CUDA_VISIBLE_DEVICES leaves number `index`, counted round and round. Throws Error
/// when there is none.
Gpu findGpu(const CudaDriver &driver, int index = 0);

/// Why a GPU cannot run code for `arch` ("sm_80", "sm_90a"), with what to do about it; empty when
/// it can. Code for sm_90a runs on GPUs of exactly that capability, other code on later ones, too.
std::string whyNotOn(const Gpu &gpu, const std::string &arch);

/// Whether machine code for `arch` runs there: as it is on GPUs of the same first digit.
bool runsMachineCode(const Gpu &gpu, const std::string &arch);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_CUDA_DRIVER_H
