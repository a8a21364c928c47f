//===- CpuFeaturesAArch64.cpp - what an AArch64 machine has ---------------===//
#include "runtime/execute/CpuFeatures.h"

#include "runtime/abi/CpuFeatureTable.h"

#include <sys/auxv.h>

namespace transformer::runtime {
bool hasCpuFeature(std::string_view name) {
  for (const aarch64::Feature &feature : aarch64::features)
    if (feature.name == name)
      return getauxval(AT_HWCAP) & feature.capability;
  return false;
}

std::string bestArch() { return "aarch64"; }

std::string cpuName() {
  auto platform = reinterpret_cast<const char *>(getauxval(AT_PLATFORM));
  return platform ? platform : "";
}

} // namespace transformer::runtime
