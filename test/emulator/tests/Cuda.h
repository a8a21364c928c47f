//===- Cuda.h - what the tests call of the driver API -----------*- C++ -*-===//
//
// Declared here, so that the tests build without the CUDA toolkit.
//
//===----------------------------------------------------------------------===//
#ifndef EMULATOR_TESTS_CUDA_H
#define EMULATOR_TESTS_CUDA_H

#include <cstddef>
#include <cstdint>

using CUdeviceptr = uint64_t;
using Handle = void *;

extern "C" {
int cuInit(unsigned);
int cuDeviceGet(int *, int);
int cuDeviceGetCount(int *);
int cuDeviceGetAttribute(int *, int, int);
int cuDevicePrimaryCtxRetain(Handle *, int);
int cuDevicePrimaryCtxReset_v2(int);
int cuCtxSetCurrent(Handle);
int cuCtxSynchronize();
int cuCtxGetDevice(int *);
int cuDeviceGetUuid(void *, int);
int cuGetErrorName(int, const char **);
int cuGetProcAddress_v2(const char *, void **, int, uint64_t, int *);
int cuModuleLoadData(Handle *, const void *);
int cuModuleLoadDataEx(Handle *, const void *, unsigned, int *, void **);
int cuModuleUnload(Handle);
int cuModuleGetFunction(Handle *, Handle, const char *);
int cuModuleGetGlobal_v2(CUdeviceptr *, size_t *, Handle, const char *);
int cuFuncSetAttribute(Handle, int, int);
int cuFuncGetParamInfo(Handle, size_t, size_t *, size_t *);
int cuFuncGetAttribute(int *, int, Handle);
int cuLaunchKernel(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   Handle, void **, void **);
int cuMemAlloc_v2(CUdeviceptr *, size_t);
int cuMemFree_v2(CUdeviceptr);
int cuMemGetInfo_v2(size_t *, size_t *);
int cuMemHostAlloc(void **, size_t, unsigned);
int cuMemFreeHost(void *);
int cuMemcpyHtoD_v2(CUdeviceptr, const void *, size_t);
int cuMemcpyDtoH_v2(void *, CUdeviceptr, size_t);
int cuMemcpyDtoD_v2(CUdeviceptr, CUdeviceptr, size_t);
int cuMemcpyHtoDAsync_v2(CUdeviceptr, const void *, size_t, Handle);
int cuMemcpyDtoHAsync_v2(void *, CUdeviceptr, size_t, Handle);
int cuMemsetD8_v2(CUdeviceptr, unsigned char, size_t);
int cuMemsetD32_v2(CUdeviceptr, unsigned, size_t);
int cuLaunchHostFunc(Handle, void (*)(void *), void *);
int cuStreamCreate(Handle *, unsigned);
int cuStreamSynchronize(Handle);
int cuStreamDestroy_v2(Handle);
int cuStreamBeginCapture_v2(Handle, int);
int cuStreamEndCapture(Handle, Handle *);
int cuGraphCreate(Handle *, unsigned);
int cuGraphAddKernelNode_v2(Handle *, Handle, const Handle *, size_t, const void *);
int cuGraphAddDependencies_v2(Handle, const Handle *, const Handle *, const void *, size_t);
int cuGraphExecKernelNodeSetParams_v2(Handle, Handle, const void *);
int cuGraphInstantiateWithFlags(Handle *, Handle, uint64_t);
int cuGraphLaunch(Handle, Handle);
int cuGraphExecDestroy(Handle);
int cuGraphDestroy(Handle);
int cuEventCreate(Handle *, unsigned);
int cuEventRecord(Handle, Handle);
int cuEventSynchronize(Handle);
int cuEventElapsedTime(float *, Handle, Handle);
int cuEventDestroy_v2(Handle);
}

#endif // EMULATOR_TESTS_CUDA_H
