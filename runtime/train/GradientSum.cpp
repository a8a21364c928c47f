//===- GradientSum.cpp - gradients of all processes -----------------------===//
#include "runtime/train/GradientSum.h"

#include "runtime/base/Error.h"
#include "runtime/profile/Profile.h"

#include <cstring>

namespace transformer::runtime {
namespace {

/// What a process tells the others of itself.
struct Means {
  GpuId gpu = {};
  char problem[80] = {}; // why it has no NCCL; empty: it has
};

Means ownMeans(const Device &device) {
  Means own;
  try {
    Nccl::get();
    const CudaDriver &driver = device.api();
    if (!driver.cuDeviceGetUuid)
      fail("the NVIDIA driver has no cuDeviceGetUuid");
    driver.check(driver.cuDeviceGetUuid(&own.gpu, device.gpu().device), "cuDeviceGetUuid");
  } catch (const Error &error) {
    std::strncpy(own.problem, error.what(), sizeof(own.problem) - 1);
  }
  return own;
}

/// Why the processes cannot use NCCL, the same for all of them; empty when they can. It takes no
/// GPU twice.
std::string whyNotTogether(const std::vector<Means> &all) {
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].problem[0])
      return formatted("process {}: {}", i, all[i].problem);
    for (size_t other = 0; other < i; ++other)
      if (all[i].gpu == all[other].gpu)
        return formatted("processes {} and {} have the same GPU", other, i);
  }
  return "";
}

} // namespace

GradientSum::GradientSum(const Processes &processes, std::shared_ptr<Device> opened)
    : processes(processes), device(std::move(opened)) {
  if (!device || processes.size() == 1)
    return;
  Means own = ownMeans(*device);
  std::vector<Means> all(static_cast<size_t>(processes.size()));
  std::vector<char> gathered = processes.gather(&own, sizeof(own));
  std::memcpy(all.data(), gathered.data(), gathered.size());
  if (std::string why = whyNotTogether(all); !why.empty()) {
    problem = "note: gradients are added up on the host, not by NCCL on the GPUs: " + why;
    return;
  }
  const Nccl &nccl = Nccl::get();
  ncclUniqueId id = {};
  if (processes.isFirst())
    nccl.check(nccl.ncclGetUniqueId(&id), "ncclGetUniqueId");
  std::memcpy(&id, processes.gather(&id, sizeof(id)).data(), sizeof(id)); // the first one's
  onDevices = std::make_unique<DeviceSum>(nccl, device, id, processes.rank(), processes.size());
}

void GradientSum::add(State &state, const std::vector<size_t> &gradients) const {
  if (processes.size() == 1)
    return;
  ProfileScope scope("add up", "gradients");
  if (!onDevices) {
    for (size_t gradient : gradients) { // from a device and back, if there is one
      Tensor &sum = state.tensor(gradient);
      processes.sum(sum.data<float>(), sum.count());
    }
    return;
  }
  std::vector<DeviceNumbers> tensors;
  for (size_t gradient : gradients) {
    auto *data = static_cast<char *>(state.onDevice(gradient, device));
    tensors.push_back({data, state.bytes(gradient) / int64_t(sizeof(float))});
  }
  onDevices->add(tensors);
}

} // namespace transformer::runtime
