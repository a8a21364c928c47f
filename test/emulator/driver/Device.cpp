//===- Device.cpp - what the device says of itself ------------------------===//
#include "test/emulator/driver/Driver.h"

#include <cstring>

using namespace emulator;

namespace {

// CUdevice_attribute to the values of an A100 or an H100.
int attribute(int which, bool hopper) {
  switch (which) {
  case 1: // threads of a block
  case 2: // in x, in y
  case 3:
    return 1024;
  case 4:
    return 64;
  case 5: // blocks in x
    return 0x7fffffff;
  case 6:
  case 7:
    return 65535;
  case 8: // shared memory of a block without asking for more
    return 48 * 1024;
  case 9: // constant memory
    return 64 * 1024;
  case 10: // warp
    return 32;
  case 12: // registers of a block, of a multiprocessor
  case 82:
    return 65536;
  case 13: // kHz
    return hopper ? 1980000 : 1410000;
  case 16: // multiprocessors
    return options().multiprocessors ? options().multiprocessors : hopper ? 132 : 108;
  case 36: // memory, kHz, and bits
    return hopper ? 2619000 : 1215000;
  case 37:
    return 5120;
  case 38: // bytes of L2
    return (hopper ? 50 : 40) << 20;
  case 39: // threads of a multiprocessor
    return 2048;
  case 41: // unified addressing
  case 95: // cooperative launches
    return 1;
  case 75:
    return hopper ? 9 : 8;
  case 76:
    return 0;
  case 81: // shared memory of a multiprocessor, of a block that asks for it, reserved
    return (hopper ? 228 : 164) * 1024;
  case 97:
    return (hopper ? 227 : 163) * 1024;
  case 106: // blocks of a multiprocessor
    return 32;
  case 111:
    return 1024;
  default: // what it has none of
    return 0;
  }
}

} // namespace

EMULATED_CUDA cuDriverGetVersion(int *version) {
  *version = 13000;
  return 0;
}

EMULATED_CUDA cuDeviceGetCount(int *count) {
  *count = options().devices;
  return int(driver().initialized ? Result::Success : Result::NotInitialized);
}

EMULATED_CUDA cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  if (!driver().initialized)
    return int(Result::NotInitialized);
  return int(isDevice(ordinal) ? Result::Success : Result::InvalidDevice);
}

EMULATED_CUDA cuDeviceGetName(char *name, int length, int) {
  std::snprintf(name, length, "Emulated sm_%d", options().architecture);
  return 0;
}

EMULATED_CUDA cuDeviceGetUuid(char *id, int device) {
  std::memset(id, 0, 16);
  std::snprintf(id, 16, "emulated %d", device);
  return int(isDevice(device) ? Result::Success : Result::InvalidDevice);
}

EMULATED_CUDA cuDeviceGetAttribute(int *value, int which, int device) {
  *value = attribute(which, options().architecture >= 90);
  return int(isDevice(device) ? Result::Success : Result::InvalidDevice);
}

EMULATED_CUDA cuDeviceTotalMem_v2(size_t *bytes, int device) {
  *bytes = size_t(options().megabytes) << 20;
  return int(isDevice(device) ? Result::Success : Result::InvalidDevice);
}

EMULATED_CUDA cuMemGetInfo_v2(size_t *available, size_t *total) {
  return inContext("cuMemGetInfo", [&] {
    *total = size_t(options().megabytes) << 20;
    *available = *total - memory().allocated();
  });
}
