//===- Target.cpp - what code generation knows of a machine ---------------===//
#include "codegen/Target.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"

using namespace mlir::transformer;
using llvm::StringRef;

namespace {

/// Features whose instructions the code generator relies on; a program checks
/// for exactly those that its target has.
constexpr const char *checkedFeatures[] = {"sse4.2", "avx",      "avx2",     "fma",
                                           "f16c",   "avx512f",  "avx512bw", "avx512cd",
                                           "avx512dq", "avx512vl"};

void setVectors(CpuTarget &target, const llvm::StringSet<> &features) {
  target.hasFma = features.contains("fma");
  target.vectorLanes = features.contains("avx512f") ? 16 : features.contains("avx") ? 8 : 4;
  target.vectorRegisters = features.contains("avx512f") ? 32 : 16;
  for (const char *feature : checkedFeatures)
    if (features.contains(feature))
      target.required.push_back(feature);
}

} // namespace

llvm::Expected<CpuTarget> mlir::transformer::cpuTarget(StringRef arch) {
  CpuTarget target;
  target.arch = arch.str();
  if (arch == "aarch64") {
    target.triple = "aarch64-unknown-linux-gnu";
    target.cpu = "generic";
    target.features = "+neon";
    target.vectorLanes = 4;
    target.vectorRegisters = 32;
    return target;
  }
  target.triple = llvm::sys::getDefaultTargetTriple();
  llvm::StringSet<> features;
  if (arch == "native") {
    target.cpu = llvm::sys::getHostCPUName().str();
    for (const auto &feature : llvm::sys::getHostCPUFeatures()) {
      target.features += (target.features.empty() ? "" : ",") +
                         std::string(feature.getValue() ? "+" : "-") + feature.getKey().str();
      if (feature.getValue())
        features.insert(feature.getKey());
    }
  } else {
    llvm::SmallVector<StringRef> list;
    if (llvm::X86::parseArchX86(arch) == llvm::X86::CK_None)
      return llvm::createStringError("unknown --arch '" + arch.str() +
                                     "': expected native, x86-64, x86-64-v2, x86-64-v3, "
                                     "x86-64-v4, aarch64 or an x86-64 CPU that LLVM knows");
    target.cpu = arch.str();
    llvm::X86::getFeaturesForCPU(arch, list);
    llvm::StringMap<bool> implied;
    for (StringRef feature : list) {
      implied[feature] = true;
      llvm::X86::updateImpliedFeatures(feature, true, implied);
      target.features += (target.features.empty() ? "+" : ",+") + feature.str();
    }
    for (const auto &feature : implied)
      if (feature.getValue())
        features.insert(feature.getKey());
  }
  setVectors(target, features);
  return target;
}
