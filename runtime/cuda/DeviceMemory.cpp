//===- DeviceMemory.cpp - memory of a GPU ---------------------------------===//
#include "runtime/base/Error.h"
#include "runtime/cuda/Device.h"

#include <algorithm>
#include <utility>

namespace transformer::runtime {

DeviceMemory::DeviceMemory(std::shared_ptr<Device> owner, size_t size, const std::string &what)
    : device(std::move(owner)), bytes(size) {
  const CudaDriver &driver = device->driver;
  CUdeviceptr address = 0;
  CUresult result = driver.cuMemAlloc(&address, std::max<size_t>(size, 1));
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    size_t free = 0, total = 0;
    driver.check(driver.cuMemGetInfo(&free, &total), "cuMemGetInfo");
    fail("{}: no memory for {}: {:.1f} MiB asked for, {:.1f} of {:.1f} MiB are free",
         device->card.name, what, double(size) / 0x1p20, double(free) / 0x1p20,
         double(total) / 0x1p20);
  }
  driver.check(result, formatted("memory for {}: cuMemAlloc", what));
  pointer = reinterpret_cast<char *>(address);
}

DeviceMemory::DeviceMemory(DeviceMemory &&other) noexcept
    : device(std::move(other.device)), pointer(std::exchange(other.pointer, nullptr)),
      bytes(std::exchange(other.bytes, 0)) {}

DeviceMemory &DeviceMemory::operator=(DeviceMemory &&other) noexcept {
  std::swap(device, other.device);
  std::swap(pointer, other.pointer);
  std::swap(bytes, other.bytes);
  return *this;
}

/// The driver waits for what is queued before it takes the memory.
DeviceMemory::~DeviceMemory() {
  if (pointer)
    device->driver.cuMemFree(reinterpret_cast<CUdeviceptr>(pointer));
}

char *DeviceArena::reserve(size_t size) {
  if (!memory.data() || memory.size() < size) {
    memory = {}; // first give back, so that both are never held
    memory = DeviceMemory(device, size, what);
  }
  return memory.data();
}

} // namespace transformer::runtime
