//===- CpuFeatures.cpp - does this machine run that code? -----------------===//
#include "runtime/execute/CpuFeatures.h"

namespace transformer::runtime {
namespace {

bool startsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

bool isTuning(std::string_view name) {
  return startsWith(name, "fast-") || startsWith(name, "slow-") || startsWith(name, "tuning-");
}

} // namespace

std::vector<std::string> missingCpuFeatures(const std::vector<std::string> &features) {
  std::vector<std::string> missing;
  for (const std::string &feature : features) {
    std::string_view name = feature;
    if (startsWith(name, "-"))
      continue; // "-avx512f" says that the code does not use it
    if (startsWith(name, "+"))
      name.remove_prefix(1);
    if (!isTuning(name) && !hasCpuFeature(name))
      missing.push_back(feature);
  }
  return missing;
}

} // namespace transformer::runtime
