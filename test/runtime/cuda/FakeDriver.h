//===- FakeDriver.h - a driver whose kernels are C++ functions --*- C++ -*-===//
//
// Its device is this machine's memory at addresses that nobody can follow. All
// that is queued is done at once.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_TEST_RUNTIME_CUDA_FAKEDRIVER_H
#define TRANSFORMER_TEST_RUNTIME_CUDA_FAKEDRIVER_H

#include "runtime/cuda/Driver.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace transformer::runtime {

/// What the driver does, and what it has been asked for. There is one; a test begins with `reset`.
struct FakeDriver {
  using Arguments = void **;

  int capability = 80;
  bool takesMachineCode = true;
  size_t memory = size_t(1) << 30; // bytes
  CUresult failure = CUDA_SUCCESS; // of the next wait
  std::string failingKernel;       // whose launch fails
  std::map<std::string, std::function<void(Arguments)>> kernels;
  std::map<std::string, int> parameters; // of kernels, 8 bytes each
  bool changesNodes = true;              // of graphs
  int earlyEdges = 0;                    // of graphs, to kernels that wait by themselves

  std::vector<std::string> launches;    // names of kernels, in order
  std::string image;                    // the first word of what was loaded
  std::map<char *, size_t> allocations; // bytes by place
  size_t waits = 0, largestCopy = 0, graphs = 0,
         changes = 0, // graphs that are there, nodes changed
      tensorMaps = 0;

  static FakeDriver &get();
  static void reset() { get() = {}; }

  /// The functions.
  static const CudaDriver &driver();

  /// Where an address of the device lies in this machine's memory.
  template <typename T> static T *at(const void *address) {
    return reinterpret_cast<T *>(reinterpret_cast<uintptr_t>(address) ^ tag);
  }

  static constexpr uintptr_t tag = uintptr_t(1) << 62;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_TEST_RUNTIME_CUDA_FAKEDRIVER_H
