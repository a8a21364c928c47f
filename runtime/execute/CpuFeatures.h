//===- CpuFeatures.h - does this machine run that code? ---------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_CPUFEATURES_H
#define TRANSFORMER_RUNTIME_CPUFEATURES_H

#include <string>
#include <string_view>
#include <vector>

namespace transformer::runtime {

/// Those of `features` (LLVM's names: "avx2", "avx512f", "sse4.2", "neon") that this CPU or its
/// operating system lacks, in the order given. A name that is not known counts as lacking, except
/// tuning hints ("fast-...", "slow-...", "tuning-..."), which change no instruction.
std::vector<std::string> missingCpuFeatures(const std::vector<std::string> &features);

/// Whether this CPU has a feature and its operating system lets programs use it. False for a name
/// that is not known.
bool hasCpuFeature(std::string_view name);

/// The --arch of transformer-compile whose code is the best that this CPU runs, of those that name
/// no single CPU: "x86-64-v3", "aarch64".
std::string bestArch();

/// The processor's own name, for example "AMD EPYC 7R13"; may be empty.
std::string cpuName();

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_CPUFEATURES_H
