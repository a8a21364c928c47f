//===- Device.cpp - a GPU with a module's kernels -------------------------===//
#include "runtime/cuda/Device.h"

#include "runtime/base/Error.h"
#include "runtime/base/Memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace transformer::runtime {
namespace {

/// Of pinned memory: enough for a copy at full speed, little beside what programs need.
constexpr size_t pinnedBytes = size_t(4) << 20;
constexpr size_t downloadedBytes = size_t(1) << 20; // at once

/// As CUDA's other programs read it.
bool isBlocking() {
  const char *value = std::getenv("CUDA_LAUNCH_BLOCKING");
  return value && *value && std::strcmp(value, "0") != 0;
}

CUdeviceptr addressOf(const void *memory) { return reinterpret_cast<CUdeviceptr>(memory); }

} // namespace

std::shared_ptr<Device> Device::open(const DeviceModule &module, int index) {
  try {
    return std::make_shared<Device>(CudaDriver::get(), module, index);
  } catch (const Error &problem) {
    std::string text = problem.what();
    bool tells = text.find('\n') != std::string::npos;
    fail("{}: for NVIDIA GPUs ({}): {}{}", module.path, module.arch, text,
         tells ? "" : "\ncompile it again with --target cpu to run it on this machine's CPU");
  }
}

Device::Device(const CudaDriver &driver, const DeviceModule &module, int index)
    : driver(driver), module(module), card(findGpu(driver, index)), maps(driver),
      waitsForEach(isBlocking()), makesGraphs(driver.hasGraphs() && !waitsForEach) {
  if (std::string problem = whyNotOn(card, module.arch); !problem.empty())
    throw Error(problem);
  driver.check(driver.cuDevicePrimaryCtxRetain(&context, card.device), "cuDevicePrimaryCtxRetain");
  try {
    driver.check(driver.cuCtxSetCurrent(context), "cuCtxSetCurrent");
    driver.check(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    loadKernels();
  } catch (...) {
    release();
    throw;
  }
}

Device::~Device() { release(); }

void Device::release() noexcept {
  if (stream)
    driver.cuStreamSynchronize(stream);
  functions.clear();
  times.reset();
  for (Pinned *pinned : {&uploads[0], &uploads[1], &downloads[0], &downloads[1]}) {
    if (pinned->copied)
      driver.cuEventDestroy(pinned->copied);
    if (pinned->data)
      driver.cuMemFreeHost(pinned->data);
  }
  if (loaded)
    driver.cuModuleUnload(loaded);
  if (stream)
    driver.cuStreamDestroy(stream);
  driver.cuDevicePrimaryCtxRelease(card.device);
}

uint64_t Device::freeMemory() const {
  size_t free = 0, total = 0;
  driver.check(driver.cuMemGetInfo(&free, &total), "cuMemGetInfo");
  return free;
}

CUresult Device::loadImage(const void *image, std::string &log) {
  char text[1024] = {};
  int names[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {text, reinterpret_cast<void *>(sizeof(text) - 1)};
  CUresult result = driver.cuModuleLoadDataEx(&loaded, image, 2, names, values);
  log = text;
  return result;
}

/// Machine code where the GPU takes it, else PTX, which the driver compiles.
void Device::loadKernels() {
  const tr_device_code &code = *module.code;
  kernels.resize(code.num_kernels);
  std::string log;
  if (code.cubin && runsMachineCode(card, module.arch)) {
    CUresult result = loadImage(code.cubin, log);
    if (result == CUDA_SUCCESS)
      return;
    if (result != CUDA_ERROR_NO_BINARY_FOR_GPU || !code.ptx)
      driver.check(result, "loading the kernels' machine code: cuModuleLoadDataEx");
  }
  if (!code.ptx)
    fail("there is neither machine code for this GPU ({}, sm_{}) nor PTX", card.name,
         card.capability);
  CUresult result = loadImage(code.ptx, log);
  std::string said = log.substr(0, log.find('\n'));
  if (result != CUDA_SUCCESS)
    fail("loading the kernels' PTX: cuModuleLoadDataEx: {}{}{}", driver.errorName(result),
         said.empty() ? "" : ": ", printable(said, 300));
}

Device::Pinned Device::makePinned(size_t bytes) {
  Pinned result;
  void *memory = nullptr;
  driver.check(driver.cuMemAllocHost(&memory, bytes), "cuMemAllocHost");
  result.data = static_cast<char *>(memory);
  driver.check(driver.cuEventCreate(&result.copied, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  return result;
}

/// By two pieces of pinned memory: one is filled while the other is copied. Small uploads follow
/// each other in one.
void Device::upload(void *to, const void *from, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    if (used == pinnedBytes) {
      driver.check(driver.cuEventRecord(uploads[current].copied, stream), "cuEventRecord");
      current = 1 - current;
      used = 0;
      if (uploads[current].data)
        driver.check(driver.cuEventSynchronize(uploads[current].copied),
                     "copies to the GPU: cuEventSynchronize");
    }
    Pinned &piece = uploads[current];
    if (!piece.data)
      piece = makePinned(pinnedBytes);
    size_t count = std::min(bytes - done, pinnedBytes - used);
    std::memcpy(piece.data + used, static_cast<const char *>(from) + done, count);
    driver.check(driver.cuMemcpyHtoDAsync(addressOf(to) + done, piece.data + used, count, stream),
                 "cuMemcpyHtoDAsync");
    used = std::min(alignUp(used + count), pinnedBytes);
    done += count;
  }
}

/// By two pieces of pinned memory: one arrives while the other is copied from.
void Device::download(void *to, const void *from, size_t bytes) {
  auto sizeFrom = [&](size_t first) { return std::min(bytes - first, downloadedBytes); };
  auto begin = [&](size_t first) {
    Pinned &piece = downloads[first / downloadedBytes % 2];
    if (!piece.data)
      piece = makePinned(downloadedBytes);
    driver.check(
        driver.cuMemcpyDtoHAsync(piece.data, addressOf(from) + first, sizeFrom(first), stream),
        "cuMemcpyDtoHAsync");
    driver.check(driver.cuEventRecord(piece.copied, stream), "cuEventRecord");
  };
  if (bytes)
    begin(0);
  for (size_t done = 0; done < bytes; done += downloadedBytes) {
    if (bytes - done > downloadedBytes)
      begin(done + downloadedBytes);
    const Pinned &piece = downloads[done / downloadedBytes % 2];
    checkQueue(driver.cuEventSynchronize(piece.copied), "cuEventSynchronize");
    std::memcpy(static_cast<char *>(to) + done, piece.data, sizeFrom(done));
  }
}

void Device::copy(void *to, const void *from, size_t bytes) {
  if (bytes)
    driver.check(driver.cuMemcpyDtoDAsync(addressOf(to), addressOf(from), bytes, stream),
                 "cuMemcpyDtoDAsync");
}

void Device::zero(void *memory, size_t bytes) {
  if (bytes)
    driver.check(driver.cuMemsetD8Async(addressOf(memory), 0, bytes, stream), "cuMemsetD8Async");
}

void Device::checkQueue(CUresult result, const char *call) const {
  if (result != CUDA_SUCCESS)
    fail("{}: on {}: a kernel failed: {}: {}\n"
         "CUDA_LAUNCH_BLOCKING=1 in the environment makes the error name it",
         module.path, card.name, call, driver.errorName(result));
}

void Device::wait() { checkQueue(driver.cuStreamSynchronize(stream), "cuStreamSynchronize"); }

bool Device::isDone() {
  CUresult result = driver.cuStreamQuery(stream);
  if (result == CUDA_ERROR_NOT_READY)
    return false;
  checkQueue(result, "cuStreamQuery");
  return true;
}

} // namespace transformer::runtime
