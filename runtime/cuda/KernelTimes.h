//===- KernelTimes.h - when kernels ran, for a profile ----------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_CUDA_KERNELTIMES_H
#define TRANSFORMER_RUNTIME_CUDA_KERNELTIMES_H

#include "runtime/abi/ModuleAbi.h"
#include "runtime/cuda/Driver.h"

#include <vector>

namespace transformer::runtime {

/// Events around the launches of a call in a stream. Events of one call serve the next one.
class KernelTimes {
public:
  KernelTimes(const CudaDriver &driver, CUstream stream) : driver(driver), stream(stream) {}
  ~KernelTimes();
  KernelTimes(const KernelTimes &) = delete;
  KernelTimes &operator=(const KernelTimes &) = delete;

  /// Before the first launch of a call: waits for what is queued, so that the device's clock and
  /// the profile's are known at the same moment.
  void begin();
  /// Around a launch. `name` is static; `work`, if there is any, is what the profile calls it by.
  void before() { record(); }
  void after(const char *name, int64_t blocks, const tr_work *work, const int64_t *amounts);
  /// When all has been done: tells the profile.
  void end();

private:
  struct Item {
    const char *name;
    int64_t blocks;
    const tr_work *work;
    std::vector<int64_t> amounts;
  };

  void record();
  int64_t timeOf(size_t event) const;

  const CudaDriver &driver;
  CUstream stream;
  std::vector<CUevent> events; // the first is the call's begin, then two a launch
  size_t used = 0;
  std::vector<Item> items;
  int64_t origin = 0; // profileNow() at the first event
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_CUDA_KERNELTIMES_H
