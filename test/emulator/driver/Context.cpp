//===- Context.cpp - initialisation, the context, its state ---------------===//
#include "test/emulator/driver/Driver.h"

#include <dlfcn.h>

namespace emulator {

thread_local bool contextIsCurrent = false;
namespace {
// All contexts are the one of the device that was opened first; its address is the handle.
int context;
thread_local std::vector<bool> pushed;
} // namespace

// Never destroyed: programs call the driver from their own destructors.
Driver &driver() {
  static Driver &driver = *new Driver;
  return driver;
}

int report(const char *what, const Fault &fault) {
  std::fprintf(stderr, "emulated CUDA: %s: %s\n", what, fault.message.c_str());
  return int(fault.code);
}

void resetContext() {
  Driver &d = driver();
  for (Stream *stream : d.streams)
    delete stream;
  for (Event *event : d.events)
    delete event;
  for (Graph *graph : d.graphs)
    delete graph;
  for (Graph *graph : d.executables)
    delete graph;
  for (auto &[module, functions] : d.modules)
    delete module;
  d.streams.clear();
  d.events.clear();
  d.graphs.clear();
  d.executables.clear();
  d.modules.clear();
  d.null.work.clear();
  d.null.captured.reset();
  d.fault.reset();
  memory().clear();
}

} // namespace emulator

using namespace emulator;

EMULATED_CUDA cuInit(unsigned flags) {
  std::lock_guard lock(driver().mutex);
  driver().initialized = flags == 0;
  return int(flags ? Result::InvalidValue : Result::Success);
}

EMULATED_CUDA cuDevicePrimaryCtxRetain(void **result, int device) {
  std::lock_guard lock(driver().mutex);
  if (!driver().initialized)
    return int(Result::NotInitialized);
  bool isAnother = driver().retained && device != driver().device;
  if (!isDevice(device) || isAnother)
    return report(
        "cuDevicePrimaryCtxRetain",
        {Result::InvalidDevice, isAnother ? "a process may open one device" : "no device"});
  ++driver().retained;
  driver().device = device;
  *result = &context;
  return 0;
}

EMULATED_CUDA cuDevicePrimaryCtxReset_v2(int device) {
  std::lock_guard lock(driver().mutex);
  if (device != driver().device)
    return int(Result::InvalidDevice);
  resetContext();
  readOptions();
  return 0;
}

EMULATED_CUDA cuDevicePrimaryCtxRelease_v2(int device) {
  std::lock_guard lock(driver().mutex);
  if (device != driver().device || driver().retained == 0)
    return int(isDevice(device) ? Result::InvalidContext : Result::InvalidDevice);
  if (--driver().retained == 0)
    resetContext();
  return 0;
}

EMULATED_CUDA cuDevicePrimaryCtxSetFlags_v2(int device, unsigned) {
  return int(isDevice(device) ? Result::Success : Result::InvalidDevice);
}

EMULATED_CUDA cuCtxSetCurrent(void *handle) {
  if (handle && handle != &context)
    return int(Result::InvalidContext);
  contextIsCurrent = handle != nullptr;
  return 0;
}

EMULATED_CUDA cuCtxGetCurrent(void **result) {
  *result = contextIsCurrent ? &context : nullptr;
  return 0;
}

EMULATED_CUDA cuCtxPushCurrent_v2(void *handle) {
  pushed.push_back(contextIsCurrent);
  return cuCtxSetCurrent(handle);
}

EMULATED_CUDA cuCtxPopCurrent_v2(void **result) {
  if (pushed.empty())
    return int(Result::InvalidContext);
  if (result)
    cuCtxGetCurrent(result);
  contextIsCurrent = pushed.back();
  pushed.pop_back();
  return 0;
}

EMULATED_CUDA cuCtxGetDevice(int *device) {
  return inContext("cuCtxGetDevice", [&] { *device = driver().device; });
}

EMULATED_CUDA cuCtxSynchronize() {
  return inContext("cuCtxSynchronize", [] {
    refuseWhileCapturing();
    flushAll();
  });
}

// By the name without a version or with it.
EMULATED_CUDA cuGetProcAddress_v2(const char *symbol, void **function, int, uint64_t, int *status) {
  Dl_info self;
  dladdr(reinterpret_cast<void *>(&cuInit), &self);
  void *library = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  *function = nullptr;
  for (const char *ending : {"_v2", ""})
    if (library && !*function)
      *function = dlsym(library, (std::string(symbol) + ending).c_str());
  if (library)
    dlclose(library);
  if (status)
    *status = *function ? 0 : 1;
  return int(*function ? Result::Success : Result::NotFound);
}
