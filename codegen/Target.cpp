//===- Target.cpp - what code generation knows of a machine ---------------===//
#include "codegen/Target.h"
#include "runtime/abi/CpuFeatureTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include <unistd.h>

using namespace mlir::transformer;
using llvm::StringRef;

namespace {

/// Everything that follows from what the CPU has (true) and lacks. What no
/// program checks for is switched off, so that code never uses it.
void setFeatures(CpuTarget &target, const llvm::StringMap<bool> &features) {
  namespace x86 = ::transformer::runtime::x86;
  llvm::StringSet<> usable = {"vzeroupper"}; // a hint, no instruction
  for (const x86::Feature &feature : x86::features) {
    if (feature.use != x86::Never)
      usable.insert(StringRef(feature.name));
    if (feature.use == x86::Checked && features.lookup(feature.name))
      target.required.push_back(std::string(feature.name));
  }
  llvm::SmallVector<std::string> words;
  for (const auto &feature : features) {
    bool used = feature.getValue() && usable.contains(feature.getKey());
    words.push_back((used ? "+" : "-") + feature.getKey().str());
  }
  llvm::sort(words); // '+' before '-': a feature goes with what it implies
  target.features = llvm::join(words, ",");
  auto has = [&](StringRef feature) { return features.lookup(feature); };
  target.hasFma = has("fma");
  target.vectorLanes = has("avx512f") ? 16 : has("avx") ? 8 : 4;
  target.vectorRegisters = has("avx512f") ? 32 : 16;
}

/// This machine's cache sizes, where the system tells them.
void readCaches(CpuTarget &target) {
  if (long bytes = sysconf(_SC_LEVEL1_DCACHE_SIZE); bytes > 0)
    target.l1Bytes = bytes;
  if (long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE); bytes > 0)
    target.l2Bytes = bytes;
}

/// CPUs that issue as many additions beside their multiply-adds and on which
/// linear layers were measured faster for it.
bool hasAddPipes(StringRef cpu) { return cpu == "znver4"; }

/// Every AArch64 CPU that Linux runs programs on has NEON.
void setAArch64(CpuTarget &target) {
  target.cpu = "generic";
  target.features = "+neon";
  target.required = {"neon"};
  target.vectorLanes = 4;
  target.vectorRegisters = 32;
}

} // namespace

llvm::Expected<CpuTarget> mlir::transformer::cpuTarget(StringRef name) {
  llvm::Triple host(llvm::sys::getDefaultTargetTriple());
  llvm::SmallVector<StringRef> words;
  name.split(words, '/');
  StringRef arch = words.front();
  CpuTarget target;
  target.name = name.str();
  target.arch = arch.str();
  bool native = arch == "native";
  std::optional<bool> winograd;
  for (StringRef word : llvm::drop_begin(words)) {
    if (word == "native")
      native = true;
    else if (word == "winograd" || word == "no-winograd")
      winograd = word == "winograd";
    else
      return llvm::createStringError("--arch " + name +
                                     ": expected native, winograd or no-winograd behind " + arch +
                                     "/, found " + word);
  }
  if (native)
    readCaches(target);
  if (winograd)
    target.winogradLeastK = 1;
  if (arch == "aarch64" || (arch == "native" && host.isAArch64())) {
    target.triple = host.isAArch64() ? host.str() : "aarch64-unknown-linux-gnu";
    setAArch64(target);
    target.winograd = winograd.value_or(false);
    return target;
  }
  target.triple = host.isX86_64() ? host.str() : "x86_64-unknown-linux-gnu";
  llvm::StringMap<bool> features;
  if (arch == "native") {
    target.cpu = llvm::sys::getHostCPUName().str();
    features = llvm::sys::getHostCPUFeatures();
  } else {
    if (llvm::X86::parseArchX86(arch, /*Only64Bit=*/true) == llvm::X86::CK_None)
      return llvm::createStringError("--arch " + arch +
                                     ": expected native, x86-64, x86-64-v2, x86-64-v3, "
                                     "x86-64-v4, aarch64 or an x86-64 CPU that LLVM knows");
    target.cpu = arch.str();
    llvm::SmallVector<StringRef> list;
    llvm::X86::getFeaturesForCPU(arch, list);
    for (StringRef feature : list) {
      features[feature] = true;
      llvm::X86::updateImpliedFeatures(feature, true, features);
    }
  }
  setFeatures(target, features);
  StringRef pipes = native ? llvm::sys::getHostCPUName() : StringRef(target.cpu);
  target.winograd = winograd.value_or(target.vectorRegisters >= 32 && hasAddPipes(pipes));
  return target;
}
