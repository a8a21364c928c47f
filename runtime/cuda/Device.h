//===- Device.h - a GPU with a module's kernels -----------------*- C++ -*-===//
//
// What a program's functions launch, and every copy, is queued in one stream
// and done in that order; only downloads and wait() wait. All of it belongs to
// the thread that opened the device.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_CUDA_DEVICE_H
#define TRANSFORMER_RUNTIME_CUDA_DEVICE_H

#include "runtime/abi/ModuleAbi.h"
#include "runtime/cuda/KernelTimes.h"
#include "runtime/cuda/LaunchGraph.h"
#include "runtime/cuda/MatrixMaps.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace transformer::runtime {

class Device;

/// Memory of a device, 256-byte aligned. Owned, movable; keeps the device.
class DeviceMemory {
public:
  DeviceMemory() = default;
  /// Throws Error that says what the memory was for, and how much there is.
  DeviceMemory(std::shared_ptr<Device> device, size_t bytes, const std::string &what);
  DeviceMemory(DeviceMemory &&other) noexcept;
  DeviceMemory &operator=(DeviceMemory &&other) noexcept;
  ~DeviceMemory();

  /// An address of the device; null when there is none.
  char *data() const { return pointer; }
  size_t size() const { return bytes; }

private:
  std::shared_ptr<Device> device;
  char *pointer = nullptr;
  size_t bytes = 0;
};

/// Scratch memory of a device that only grows: `reserve` keeps no contents.
class DeviceArena {
public:
  DeviceArena(std::shared_ptr<Device> device, std::string what)
      : device(std::move(device)), what(std::move(what)) {}
  /// At least `size` bytes, valid until the next reserve.
  char *reserve(size_t size);

private:
  std::shared_ptr<Device> device;
  std::string what;
  DeviceMemory memory;
};

/// Kernels of a module: what Device is opened with.
struct DeviceModule {
  std::string path; // for messages
  std::string arch; // "sm_80"
  const tr_device_code *code = nullptr;
};

/// A context, a stream and the loaded kernels.
class Device {
public:
  /// On this machine's GPU number `index`, as findGpu counts. Throws Error when there is no driver
  /// or GPU, or one that the kernels are not for, with what to do then.
  static std::shared_ptr<Device> open(const DeviceModule &module, int index = 0);

  /// The same with a driver of the caller's, which must outlive the object.
  Device(const CudaDriver &driver, const DeviceModule &module, int index = 0);
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  const Gpu &gpu() const { return card; }
  /// For who queues what a Device does not.
  const CudaDriver &api() const { return driver; }
  CUstream queue() const { return stream; }
  /// Bytes that nobody has.
  uint64_t freeMemory() const;

  /// Queues a copy to the device; `from` may change as soon as it returns.
  void upload(void *to, const void *from, size_t bytes);
  /// Copies from the device when all that is queued has been done. Throws Error when any of it
  /// failed.
  void download(void *to, const void *from, size_t bytes);
  /// Queues a copy within the device; the two do not overlap.
  void copy(void *to, const void *from, size_t bytes);
  void zero(void *memory, size_t bytes);
  /// Until all that is queued has been done. Throws Error when any of it failed.
  void wait();
  /// Whether all that is queued has been done; waits for nothing. Throws Error as `wait` does.
  bool isDone();

  /// Calls a function of the module; what it launches is queued here: as one graph, from the third
  /// time that it launches the same kernels if it is called `again` and again. With a profile it
  /// ends when the kernels have. Throws Error that names the kernel that could not be launched.
  void call(const tr_function &function, const void *const *slots, const tr_tensor *io, void *arena,
            bool again);

  /// tr_launch during a call.
  void launch(int64_t kernel, const tr_grid &grid, void *const *arguments, const tr_work *work,
              const int64_t *amounts);

  /// tr_tensor_map during a call.
  const void *tensorMap(const MatrixBoxes &boxes);

  /// How many calls were launched as a graph.
  int64_t graphLaunches() const { return launchedGraphs; }

private:
  friend class DeviceMemory;

  /// Memory that the device reads and writes itself.
  struct Pinned {
    char *data = nullptr;
    CUevent copied = nullptr; // the copies from it
  };
  struct Kernel {
    CUfunction function = nullptr; // found when it is launched first
    int64_t sharedBytes = 0;       // of dynamic shared memory, that it may have
    std::vector<unsigned> sizes;   // of its parameters, in bytes
    std::vector<unsigned> offsets; // of each among the bytes of all
    unsigned bytes = 0;
  };
  /// A function that is called again and again.
  struct Repeated {
    std::vector<int64_t> kernels; // of the last call
    std::unique_ptr<LaunchGraph> graph;
  };

  void loadKernels();
  CUresult loadImage(const void *image, std::string &log);
  Pinned makePinned(size_t bytes);
  void makeLaunch(Launch &launch, int64_t kernel, const tr_grid &grid);
  void copyArguments(Launch &launch, void *const *arguments);
  void launchNow(const Launch &launch, void *const *arguments);
  void launchOrThrow(int64_t kernel, const tr_grid &grid, void *const *arguments,
                     const tr_work *work, const int64_t *amounts);
  void finishCall(Repeated &function);
  void check(CUresult result, const char *call, const Launch &launch) const;
  void checkQueue(CUresult result, const char *call) const;
  void release() noexcept;

  const CudaDriver &driver;
  DeviceModule module;
  Gpu card;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUmodule loaded = nullptr;
  MatrixMaps maps;
  std::vector<Kernel> kernels;
  Pinned uploads[2], downloads[2];
  size_t current = 0, used = 0; // of the uploads' memory
  std::string problem;          // the first of the launches' of a call
  bool waitsForEach;            // CUDA_LAUNCH_BLOCKING
  bool makesGraphs;             // of calls
  std::map<const tr_function *, Repeated> functions;
  Repeated *repeated = nullptr;  // the function that is called, if its call may become a graph
  std::vector<Launch> collected; // its launches
  size_t numCollected = 0;       // of them, since it was called: the others lend their memory
  int64_t launchedGraphs = 0;
  std::unique_ptr<KernelTimes> times; // with a profile
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_CUDA_DEVICE_H
