//===- DeviceSum.h - sums over the GPUs of several processes ----*- C++ -*-===//
//
// Each process adds up its share of what all have, in the order of the ranks,
// and all gather the sums: a number is the same sum of the same terms in the
// same order as on one device. NCCL moves the numbers and adds none: nothing
// says in which order it would.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_CUDA_DEVICESUM_H
#define TRANSFORMER_RUNTIME_CUDA_DEVICESUM_H

#include "runtime/cuda/Device.h"
#include "runtime/cuda/Nccl.h"

#include <memory>
#include <vector>

namespace transformer::runtime {

/// float32 numbers on a device.
struct DeviceNumbers {
  char *data;
  int64_t count;
};

class DeviceSum {
public:
  /// Joins the others, of whom there are `size`, with ranks from 0 and one `id`, a device each;
  /// returns when all have. At most `bucket` numbers are on their way at once. Throws Error that
  /// names the call.
  DeviceSum(const Nccl &nccl, std::shared_ptr<Device> device, const ncclUniqueId &id, int rank,
            int size, int64_t bucket = int64_t(1) << 24);
  ~DeviceSum();
  DeviceSum(const DeviceSum &) = delete;
  DeviceSum &operator=(const DeviceSum &) = delete;

  /// Adds up `tensors`, of the same sizes everywhere, over all processes, which must all call this.
  /// Throws Error when something between the devices fails, then or before.
  void add(const std::vector<DeviceNumbers> &tensors);

private:
  enum class Way { Out, Back };
  void copyBucket(const std::vector<DeviceNumbers> &tensors, int64_t first, int64_t count, Way way);
  void exchange(int64_t each);
  void addShares(int64_t each);
  void waitForAll();
  void release(bool failed) noexcept;
  char *share(const DeviceMemory &of, int64_t each, int index) const;

  const Nccl &nccl;
  std::shared_ptr<Device> device;
  int rank, size;
  int64_t bucket;
  int uncaught; // exceptions when this was made
  ncclComm_t communicator = nullptr;
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  DeviceMemory numbers, received; // a bucket's: this process', and of its share everybody's
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_CUDA_DEVICESUM_H
