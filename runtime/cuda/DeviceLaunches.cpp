//===- DeviceLaunches.cpp - what a call of a function launches ------------===//
#include "runtime/base/Error.h"
#include "runtime/base/Memory.h"
#include "runtime/cuda/Device.h"
#include "runtime/profile/Profile.h"

#include <climits>
#include <cstring>

namespace transformer::runtime {
namespace {

/// Whose functions run on this thread.
thread_local Device *calling = nullptr;

std::vector<int64_t> kernelsOf(const std::vector<Launch> &launches) {
  std::vector<int64_t> result;
  for (const Launch &launch : launches)
    result.push_back(launch.kernel);
  return result;
}

} // namespace

void Device::call(const tr_function &function, const void *const *slots, const tr_tensor *io,
                  void *arena, bool again) {
  bool profiled = profiling();
  if (profiled && !times)
    times = std::make_unique<KernelTimes>(driver, stream);
  if (profiled)
    times->begin();
  problem.clear();
  numCollected = 0;
  maps.trim();
  repeated = again && makesGraphs && !profiled ? &functions[&function] : nullptr;
  calling = this;
  function.call(slots, io, arena);
  calling = nullptr;
  if (!problem.empty())
    throw Error(problem);
  if (repeated)
    finishCall(*repeated);
  if (!profiled)
    return;
  wait();
  times->end();
}

/// The launches of a function that has a graph are queued now, the others have been.
void Device::finishCall(Repeated &function) {
  collected.resize(numCollected);
  if (!function.graph) {
    std::vector<int64_t> kernels = kernelsOf(collected);
    bool same = kernels == function.kernels;
    function.kernels = std::move(kernels);
    if (!same || collected.size() < 2)
      return;
    try {
      function.graph = std::make_unique<LaunchGraph>(driver, collected, module.code->waits != 0);
    } catch (const Error &) {
      makesGraphs = false; // launches need none
    }
    return;
  }
  if (function.graph->hasKernelsOf(collected) && function.graph->launch(collected, stream)) {
    ++launchedGraphs;
    return;
  }
  function = {};
  std::vector<void *> pointers;
  for (const Launch &launch : collected)
    launchNow(launch, launch.node(pointers).arguments);
}

void Device::check(CUresult result, const char *call, const Launch &launch) const {
  if (result == CUDA_SUCCESS)
    return;
  const auto &[x, y, z] = launch.blocks;
  const auto &[threadsX, threadsY, threadsZ] = launch.threads;
  fail("{}: on {}: kernel {}, {} x {} x {} blocks of {} x {} x {} threads: {}: {}", module.path,
       card.name, module.code->kernels[launch.kernel], x, y, z, threadsX, threadsY, threadsZ, call,
       driver.errorName(result));
}

/// Without its arguments. The kernel can be launched so.
void Device::makeLaunch(Launch &launch, int64_t index, const tr_grid &grid) {
  const tr_device_code &code = *module.code;
  if (index < 0 || uint64_t(index) >= code.num_kernels)
    fail("{}: launches kernel {} of {}", module.path, index, code.num_kernels);
  const char *name = code.kernels[index];
  launch.kernel = index;
  launch.sharedBytes = static_cast<unsigned>(grid.shared_bytes);
  for (int i = 0; i < 6; ++i) {
    int64_t size = i < 3 ? grid.blocks[i] : grid.threads[i - 3];
    if (size < 1 || size > INT_MAX)
      fail("{}: kernel {}: {} {} in a dimension are more than a launch may have", module.path, name,
           size, i < 3 ? "blocks" : "threads");
    (i < 3 ? launch.blocks[i] : launch.threads[i - 3]) = static_cast<unsigned>(size);
  }
  Kernel &kernel = kernels[size_t(index)];
  if (!kernel.function)
    check(driver.cuModuleGetFunction(&kernel.function, loaded, name), "cuModuleGetFunction",
          launch);
  if (grid.shared_bytes > kernel.sharedBytes) {
    check(driver.cuFuncSetAttribute(kernel.function,
                                    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                    static_cast<int>(grid.shared_bytes)),
          "cuFuncSetAttribute", launch);
    kernel.sharedBytes = grid.shared_bytes;
  }
  launch.function = kernel.function;
}

/// The driver knows how many there are, and how large.
void Device::copyArguments(Launch &launch, void *const *arguments) {
  Kernel &kernel = kernels[size_t(launch.kernel)];
  size_t offset = 0, bytes = 0;
  if (kernel.sizes.empty())
    while (driver.cuFuncGetParamInfo(kernel.function, kernel.sizes.size(), &offset, &bytes) ==
           CUDA_SUCCESS) {
      kernel.offsets.push_back(kernel.bytes);
      kernel.sizes.push_back(static_cast<unsigned>(bytes));
      kernel.bytes += static_cast<unsigned>((bytes + 7) / 8 * 8);
    }
  launch.offsets = &kernel.offsets;
  launch.arguments.resize(kernel.bytes);
  for (size_t i = 0; i < kernel.sizes.size(); ++i)
    std::memcpy(launch.arguments.data() + kernel.offsets[i], arguments[i], kernel.sizes[i]);
}

void Device::launchNow(const Launch &launch, void *const *arguments) {
  const unsigned *blocks = launch.blocks, *threads = launch.threads;
  check(driver.cuLaunchKernel(launch.function, blocks[0], blocks[1], blocks[2], threads[0],
                              threads[1], threads[2], launch.sharedBytes, stream,
                              const_cast<void **>(arguments), nullptr),
        "cuLaunchKernel", launch);
  if (waitsForEach)
    check(driver.cuStreamSynchronize(stream), "cuStreamSynchronize", launch);
}

void Device::launchOrThrow(int64_t index, const tr_grid &grid, void *const *arguments,
                           const tr_work *work, const int64_t *amounts) {
  if (repeated) {
    if (numCollected == collected.size())
      collected.emplace_back();
    Launch &launch = collected[numCollected];
    makeLaunch(launch, index, grid);
    copyArguments(launch, arguments);
    if (!repeated->graph)
      launchNow(launch, arguments);
    ++numCollected;
    return;
  }
  Launch launch;
  makeLaunch(launch, index, grid);
  bool profiled = profiling();
  if (profiled)
    times->before();
  launchNow(launch, arguments);
  if (profiled)
    times->after(module.code->kernels[index],
                 int64_t(launch.blocks[0]) * launch.blocks[1] * launch.blocks[2], work, amounts);
}

/// An exception would have to go through the module's code, which knows none.
void Device::launch(int64_t kernel, const tr_grid &grid, void *const *arguments,
                    const tr_work *work, const int64_t *amounts) {
  if (!problem.empty())
    return;
  try {
    launchOrThrow(kernel, grid, arguments, work, amounts);
  } catch (const std::exception &error) {
    problem = error.what();
  }
}

const void *Device::tensorMap(const MatrixBoxes &boxes) {
  if (problem.empty())
    try {
      return maps.find(boxes);
    } catch (const std::exception &error) {
      problem = error.what();
    }
  return nullptr; // nothing is launched any more
}

} // namespace transformer::runtime

extern "C" void tr_launch(int64_t kernel, const tr_grid *grid, void *const *arguments,
                          const tr_work *work, const int64_t *amounts) {
  using namespace transformer::runtime;
  if (calling)
    calling->launch(kernel, *grid, arguments, work, amounts);
}

extern "C" const void *tr_tensor_map(const void *matrix, int64_t rows, int64_t columns,
                                     int64_t row_stride, int64_t box_rows) {
  using namespace transformer::runtime;
  return calling ? calling->tensorMap({matrix, rows, columns, row_stride, box_rows}) : nullptr;
}

extern "C" int64_t tr_multiprocessors() {
  using namespace transformer::runtime;
  return calling ? calling->gpu().multiprocessors : 1;
}
