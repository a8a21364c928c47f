//===- CpuFeaturesAArch64.cpp - what an AArch64 machine has ---------------===//
#include "runtime/CpuFeatures.h"

#include <asm/hwcap.h>
#include <cstdint>
#include <sys/auxv.h>

namespace transformer::runtime {
namespace {

struct Feature {
  std::string_view name; // as LLVM spells it
  uint64_t capability;   // of AT_HWCAP
};

// Linux, Documentation/arch/arm64/elf_hwcaps.rst. The kernel lists what it lets programs use.
constexpr Feature table[] = {{"fp-armv8", HWCAP_FP}, {"neon", HWCAP_ASIMD}};

} // namespace

bool hasCpuFeature(std::string_view name) {
  for (const Feature &feature : table)
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
