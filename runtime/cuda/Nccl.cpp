//===- Nccl.cpp - NVIDIA's library between GPUs, as far as we use it ------===//
#include "runtime/cuda/Nccl.h"

#include "runtime/base/Error.h"

#include <dlfcn.h>

namespace transformer::runtime {
namespace {

constexpr const char *library = "libnccl.so.2";

Nccl load() {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    fail("{} cannot be loaded", library);
  Nccl nccl;
  auto set = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    return function != nullptr;
  };
  bool complete = set(nccl.ncclGetErrorString, "ncclGetErrorString");
#define FUNCTION(name, parameters) complete &= set(nccl.name, #name);
  TRANSFORMER_NCCL_FUNCTIONS(FUNCTION)
#undef FUNCTION
  if (!complete)
    fail("{} is older than 2.7", library); // which has ncclSend
  set(nccl.ncclGetLastError, "ncclGetLastError");
  return nccl;
}

} // namespace

const Nccl &Nccl::get() {
  static const Nccl nccl = load();
  return nccl;
}

void Nccl::check(ncclResult_t result, const char *call) const {
  if (result == ncclSuccess)
    return;
  std::string more = ncclGetLastError ? printable(ncclGetLastError(nullptr), 300) : "";
  fail("NCCL: {}: {}{}{}", call, printable(ncclGetErrorString(result), 100),
       more.empty() ? "" : ": ", more);
}

std::string Nccl::version() const {
  int number = 0;
  check(ncclGetVersion(&number), "ncclGetVersion");
  int major = number < 10000 ? 1000 : 10000; // 2.8 is 2800, 2.9 is 20900
  return formatted("{}.{}.{}", number / major, number % major / 100, number % 100);
}

} // namespace transformer::runtime
