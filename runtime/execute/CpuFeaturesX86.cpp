//===- CpuFeaturesX86.cpp - what an x86-64 machine has --------------------===//
#include "runtime/execute/CpuFeatures.h"

#include "runtime/abi/CpuFeatureTable.h"
#include "runtime/abi/TileData.h"

#include <algorithm>
#include <cpuid.h>
#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace transformer::runtime {

using namespace x86;

namespace {

/// The register states that the operating system saves (XCR0), 0 without XSAVE.
uint64_t enabledState() {
  uint32_t eax, ebx, ecx, edx;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & (1u << 27)))
    return 0;
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

bool has(const Feature &feature) {
  uint32_t values[4] = {};
  if (!__get_cpuid_count(feature.leaf, feature.subleaf, &values[Eax], &values[Ebx], &values[Ecx],
                         &values[Edx]))
    return false;
  return (values[feature.reg] >> feature.bit & 1) &&
         (enabledState() & feature.state) == feature.state &&
         (feature.state != Amx || mayUseTileData());
}

} // namespace

bool hasCpuFeature(std::string_view name) {
  for (const Feature &feature : features)
    if (feature.name == name)
      return has(feature);
  return false;
}

std::string bestArch() {
  // What each level adds (System V ABI, x86-64 supplement, section 3.1.1).
  static constexpr std::initializer_list<std::string_view> levels[] = {
      {"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"},
      {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"},
      {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"},
  };
  int level = 1;
  for (const auto &added : levels) {
    if (!std::all_of(added.begin(), added.end(), hasCpuFeature))
      break;
    ++level;
  }
  return level == 1 ? "x86-64" : "x86-64-v" + std::to_string(level);
}

std::string cpuName() {
  uint32_t words[12] = {};
  for (uint32_t i = 0; i < 3; ++i)
    if (!__get_cpuid(0x80000002 + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2],
                     &words[4 * i + 3]))
      return "";
  char text[49] = {};
  std::memcpy(text, words, 48);
  std::string name(text);
  name.erase(0, name.find_first_not_of(' '));
  name.erase(name.find_last_not_of(' ') + 1);
  return name;
}

} // namespace transformer::runtime
