//===- KernelTimes.cpp - when kernels ran, for a profile ------------------===//
#include "runtime/cuda/KernelTimes.h"

#include "runtime/profile/Profile.h"

#include <algorithm>

namespace transformer::runtime {

KernelTimes::~KernelTimes() {
  for (CUevent event : events)
    driver.cuEventDestroy(event);
}

void KernelTimes::record() {
  if (used == events.size()) {
    CUevent event = nullptr;
    driver.check(driver.cuEventCreate(&event, 0), "cuEventCreate");
    events.push_back(event);
  }
  driver.check(driver.cuEventRecord(events[used++], stream), "cuEventRecord");
}

void KernelTimes::begin() {
  used = 0;
  items.clear();
  record();
  driver.check(driver.cuEventSynchronize(events[0]), "cuEventSynchronize");
  origin = profileNow();
}

void KernelTimes::after(const char *name, int64_t blocks, const tr_work *work,
                        const int64_t *amounts) {
  record();
  std::vector<int64_t> copy(amounts, amounts + (work ? work->num_amounts : 0));
  items.push_back({name, blocks, work, std::move(copy)});
}

/// In nanoseconds of the profile. An event is seen some time after it has happened, so that the
/// origin is late by as much: no kernel ends after it was waited for.
int64_t KernelTimes::timeOf(size_t event) const {
  float milliseconds = 0;
  driver.check(driver.cuEventElapsedTime(&milliseconds, events[0], events[event]),
               "cuEventElapsedTime");
  return std::min(origin + static_cast<int64_t>(double(milliseconds) * 1e6), profileNow());
}

void KernelTimes::end() {
  for (size_t i = 0; i < items.size(); ++i)
    profileKernel(items[i].name, items[i].blocks, items[i].work, items[i].amounts.data(),
                  timeOf(1 + 2 * i), timeOf(2 + 2 * i));
}

} // namespace transformer::runtime
