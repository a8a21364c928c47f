//===- CpuFeatures.h - does this machine run that code? ---------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_CPUFEATURES_H
#define TRANSFORMER_RUNTIME_CPUFEATURES_H

#include <string>
#include <string_view>
#include <vector>

namespace transformer::runtime {

/// The --arch of transformer-compile whose code runs on every CPU of this architecture.
#if defined(__x86_64__)
inline constexpr const char *baselineArch = "x86-64";
#elif defined(__aarch64__)
inline constexpr const char *baselineArch = "aarch64";
#else
#error "expected x86-64 or AArch64"
#endif

/// Those of `features` (LLVM's names: "avx2", "avx512f", "sse4.2", "neon") that this CPU or its
/// operating system lacks, in the order given. A name that is not known counts as lacking, except
/// tuning hints ("fast-...", "slow-...", "tuning-..."), which change no instruction.
std::vector<std::string> missingCpuFeatures(const std::vector<std::string> &features);

/// Whether this CPU has a feature and its operating system lets programs use it. False for a name
/// that is not known.
bool hasCpuFeature(std::string_view name);

/// The processor's own name, for example "AMD EPYC 7R13"; may be empty.
std::string cpuName();

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_CPUFEATURES_H
