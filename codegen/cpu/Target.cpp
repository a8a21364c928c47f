//===- Target.cpp - the CPUs that code is made for ------------------------===//
#include "codegen/cpu/Target.h"
#include "codegen/Target.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/abi/CpuFeatureTable.h"
#include "runtime/abi/TileData.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include <unistd.h>

using namespace mlir;
using namespace mlir::transformer;
using llvm::StringRef;

namespace {

/// What follows from a name; the rest is the same for every CPU.
struct Facts {
  std::string triple, cpu, features;
  std::vector<std::string> required;
  int64_t vectorLanes = 8, vectorRegisters = 16;
  int64_t l1Bytes = 32 << 10, l2Bytes = 512 << 10;
  bool fma = true;
  int64_t winogradVectors = 0, winogradLeastK = 128;
  int64_t productVectors = 2;
  bool packsAhead = false;
  int64_t streams = 4;
};

/// Everything that follows from what the CPU has (true) and lacks. What no
/// program checks for is switched off, so that code never uses it.
void setFeatures(Facts &facts, const llvm::StringMap<bool> &features) {
  namespace x86 = ::transformer::runtime::x86;
  llvm::StringSet<> usable = {"vzeroupper"}; // a hint, no instruction
  for (const x86::Feature &feature : x86::features) {
    if (feature.use != x86::Never)
      usable.insert(StringRef(feature.name));
    if (feature.use == x86::Checked && features.lookup(feature.name))
      facts.required.push_back(std::string(feature.name));
  }
  llvm::SmallVector<std::string> words;
  for (const auto &feature : features) {
    bool used = feature.getValue() && usable.contains(feature.getKey());
    words.push_back((used ? "+" : "-") + feature.getKey().str());
  }
  llvm::sort(words); // '+' before '-': a feature goes with what it implies
  facts.features = llvm::join(words, ",");
  auto has = [&](StringRef feature) { return features.lookup(feature); };
  facts.fma = has("fma");
  facts.vectorLanes = has("avx512f") ? 16 : has("avx") ? 8 : 4;
  facts.vectorRegisters = has("avx512f") ? 32 : 16;
}

/// This machine's cache sizes, where the system tells them.
void readCaches(Facts &facts) {
  if (long bytes = sysconf(_SC_LEVEL1_DCACHE_SIZE); bytes > 0)
    facts.l1Bytes = bytes;
  if (long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE); bytes > 0)
    facts.l2Bytes = bytes;
}

/// Of CPUs that issue as many additions beside their multiply-adds and on which
/// linear layers were measured faster for it. A tile of one vector reads x from
/// memory in three of four operations; Zen 5, which does four a cycle where Zen 4
/// does two, loads no more than two vectors meanwhile.
int64_t winogradVectorsOf(StringRef cpu) { return cpu == "znver4" ? 1 : cpu == "znver5" ? 2 : 0; }

/// One stream brought 13 GB/s on a Sapphire Rapids core and four 20; one 41 on Zen 5, where four of
/// narrow weights, each short, brought 33.
int64_t streamsOf(StringRef cpu) { return cpu == "znver5" ? 1 : 4; }

/// Intel's cores with AVX-512 begin two multiply-adds a cycle. Of tiles of 8 by 2 vectors each
/// reads its panel from the second-level cache twice as fast as one of 6 by 4: 157 and 175 GFLOP/s
/// where registers alone reach 217. Lines on their way from memory take the buffers of those from
/// that cache, so fetching the next task's weight beside the products costs more than it saves (a
/// step of GPT-2 took 909 ms, with both 809).
bool isIntel512(const Facts &facts, StringRef cpu) {
  return facts.vectorRegisters >= 32 && !cpu.starts_with("znver") && !cpu.starts_with("x86-64");
}

/// Every AArch64 CPU that Linux runs programs on has NEON.
void setAArch64(Facts &facts, const llvm::Triple &host) {
  facts.triple = host.isAArch64() ? host.str() : "aarch64-unknown-linux-gnu";
  facts.cpu = "generic";
  facts.features = "+neon";
  facts.required = {"neon"};
  facts.vectorLanes = 4;
  facts.vectorRegisters = 32;
}

llvm::Error setX86(Facts &facts, const llvm::Triple &host, StringRef arch, bool amx) {
  facts.triple = host.isX86_64() ? host.str() : "x86_64-unknown-linux-gnu";
  llvm::StringMap<bool> features;
  if (arch == "native") {
    facts.cpu = llvm::sys::getHostCPUName().str();
    features = llvm::sys::getHostCPUFeatures();
    amx = amx && features.lookup("amx-tile") && ::transformer::runtime::mayUseTileData();
  } else {
    if (llvm::X86::parseArchX86(arch, /*Only64Bit=*/true) == llvm::X86::CK_None)
      return llvm::createStringError("--arch " + arch +
                                     ": expected native, x86-64, x86-64-v2, x86-64-v3, "
                                     "x86-64-v4, aarch64 or an x86-64 CPU that LLVM knows");
    facts.cpu = arch.str();
    llvm::SmallVector<StringRef> list;
    llvm::X86::getFeaturesForCPU(arch, list);
    for (StringRef feature : list) {
      features[feature] = true;
      llvm::X86::updateImpliedFeatures(feature, true, features);
    }
    if (features.lookup("amx-tile")) { // Intel's servers from Sapphire Rapids on
      facts.l1Bytes = 48 << 10;
      facts.l2Bytes = 2 << 20;
    }
  }
  if (!amx)
    for (auto &feature : features)
      if (feature.getKey().starts_with("amx-"))
        feature.second = false;
  setFeatures(facts, features);
  return llvm::Error::success();
}

} // namespace

cpu::TargetAttr cpu::TargetAttr::of(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  auto target = module->getAttrOfType<TargetAttr>(kTargetAttr);
  if (!target)
    module.emitError() << "has no target; transformer-cpu-set-target gives it one";
  return target;
}

bool cpu::TargetAttr::has(StringRef feature) const {
  llvm::SmallVector<StringRef> all;
  getFeatures().split(all, ',');
  return llvm::is_contained(all, ("+" + feature).str());
}

llvm::Expected<cpu::TargetAttr> mlir::transformer::cpuTarget(MLIRContext *context, StringRef name) {
  llvm::Triple host(llvm::sys::getDefaultTargetTriple());
  llvm::SmallVector<StringRef> words;
  name.split(words, '/');
  StringRef arch = words.front();
  Facts facts;
  bool native = arch == "native";
  bool amx = true;
  std::optional<bool> winograd;
  for (StringRef word : llvm::drop_begin(words)) {
    if (word == "native")
      native = true;
    else if (word == "winograd" || word == "no-winograd")
      winograd = word == "winograd";
    else if (word == "no-amx")
      amx = false;
    else
      return llvm::createStringError("--arch " + name +
                                     ": expected native, winograd, no-winograd or no-amx behind " +
                                     arch + "/, found " + word);
  }
  if (native)
    readCaches(facts);
  if (winograd)
    facts.winogradLeastK = 1;
  if (arch == "aarch64" || (arch == "native" && host.isAArch64())) {
    setAArch64(facts, host);
    facts.winogradVectors = winograd.value_or(false);
  } else {
    if (llvm::Error error = setX86(facts, host, arch, amx))
      return error;
    StringRef pipes = native ? llvm::sys::getHostCPUName() : StringRef(facts.cpu);
    facts.streams = streamsOf(pipes);
    if (isIntel512(facts, pipes)) {
      facts.productVectors = 4;
      facts.packsAhead = true;
    }
    int64_t vectors = facts.vectorRegisters >= 32 ? winogradVectorsOf(pipes) : 0;
    if (winograd.value_or(vectors > 0))
      facts.winogradVectors = std::max<int64_t>(vectors, 1);
  }
  llvm::SmallVector<StringRef> required(facts.required.begin(), facts.required.end());
  context->getOrLoadDialect<cpu::CpuDialect>();
  return cpu::TargetAttr::get(context, name, arch, facts.triple, facts.cpu, facts.features,
                              Builder(context).getStrArrayAttr(required), facts.vectorLanes,
                              facts.vectorRegisters, facts.l1Bytes, facts.l2Bytes, /*lineBytes=*/64,
                              facts.fma, facts.winogradVectors, facts.winogradLeastK,
                              facts.productVectors, facts.packsAhead, facts.streams,
                              /*unroll=*/4,
                              /*prefetchBytes=*/16 << 10, /*taskBytes=*/32 << 10,
                              /*taskRows=*/16);
}
