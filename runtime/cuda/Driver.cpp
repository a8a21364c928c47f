//===- Driver.cpp - NVIDIA's driver, as far as we use it ------------------===//
#include "runtime/cuda/Driver.h"

#include "runtime/base/Error.h"

#include <cstdlib>
#include <dlfcn.h>

namespace transformer::runtime {
namespace {

constexpr const char *library = "libcuda.so.1";

CudaDriver load() {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    fail("no NVIDIA driver: cannot load {}", library);
  CudaDriver driver;
#define FUNCTION(name, symbol, parameters)                                                         \
  driver.name = reinterpret_cast<CUresult(*) parameters>(dlsym(handle, symbol));                   \
  if (!driver.name)                                                                                \
    fail("the NVIDIA driver is too old: {} has no {}", library, symbol);
  TRANSFORMER_CUDA_FUNCTIONS(FUNCTION)
#undef FUNCTION
#define FUNCTION(name, symbol, parameters)                                                         \
  driver.name = reinterpret_cast<CUresult(*) parameters>(dlsym(handle, symbol));
  TRANSFORMER_CUDA_GRAPH_FUNCTIONS(FUNCTION)
  TRANSFORMER_CUDA_EDGE_FUNCTIONS(FUNCTION)
  TRANSFORMER_CUDA_TENSOR_FUNCTIONS(FUNCTION)
  TRANSFORMER_CUDA_IDENTITY_FUNCTIONS(FUNCTION)
#undef FUNCTION
  return driver;
}

/// "sm_90a": 90, for no other GPU.
struct Arch {
  int capability;
  bool exact;
};

Arch parseArch(const std::string &arch) {
  char *end = nullptr;
  bool known = arch.rfind("sm_", 0) == 0;
  long capability = known ? std::strtol(arch.c_str() + 3, &end, 10) : 0;
  if (capability < 10 || capability > 9999 || (*end && std::string(end) != "a"))
    fail("the program is for a GPU of architecture \"{}\", which this runtime does not know",
         printable(arch, 40));
  return {static_cast<int>(capability), *end == 'a'};
}

} // namespace

const CudaDriver &CudaDriver::get() {
  static const CudaDriver driver = load();
  return driver;
}

bool CudaDriver::hasGraphs() const {
#define FUNCTION(name, symbol, parameters)                                                         \
  if (!name)                                                                                       \
    return false;
  TRANSFORMER_CUDA_GRAPH_FUNCTIONS(FUNCTION)
#undef FUNCTION
  return true;
}

std::string CudaDriver::errorName(CUresult result) const {
  const char *name = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
    return formatted("error {} of the driver", result);
  return name;
}

void CudaDriver::check(CUresult result, const std::string &call) const {
  if (result != CUDA_SUCCESS)
    fail("{}: {}", call, errorName(result));
}

Gpu findGpu(const CudaDriver &driver, int index) {
  CUresult started = driver.cuInit(0);
  int count = 0;
  if (started == CUDA_SUCCESS)
    driver.check(driver.cuDeviceGetCount(&count), "cuDeviceGetCount");
  if (started == CUDA_ERROR_NO_DEVICE || (started == CUDA_SUCCESS && count == 0))
    fail("the NVIDIA driver finds no GPU");
  driver.check(started, "the NVIDIA driver does not start: cuInit");
  Gpu gpu;
  driver.check(driver.cuDeviceGet(&gpu.device, index % count), "cuDeviceGet");
  char name[256] = {};
  driver.check(driver.cuDeviceGetName(name, sizeof(name) - 1, gpu.device), "cuDeviceGetName");
  gpu.name = printable(name);
  int major = 0, minor = 0;
  driver.check(
      driver.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, gpu.device),
      "cuDeviceGetAttribute");
  driver.check(
      driver.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, gpu.device),
      "cuDeviceGetAttribute");
  gpu.capability = 10 * major + minor;
  driver.check(driver.cuDeviceGetAttribute(&gpu.multiprocessors,
                                           CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, gpu.device),
               "cuDeviceGetAttribute");
  return gpu;
}

std::string whyNotOn(const Gpu &gpu, const std::string &arch) {
  Arch needed = parseArch(arch);
  if (needed.exact ? gpu.capability == needed.capability : gpu.capability >= needed.capability)
    return "";
  return formatted("compiled for {}{}, but this GPU ({}) is sm_{}\n"
                   "compile it again with an --arch that this GPU has, or with --target cpu",
                   arch, needed.exact ? "" : " and later", gpu.name, gpu.capability);
}

bool runsMachineCode(const Gpu &gpu, const std::string &arch) {
  Arch made = parseArch(arch);
  return gpu.capability / 10 == made.capability / 10 && whyNotOn(gpu, arch).empty();
}

} // namespace transformer::runtime
