//===- CpuFeaturesX86.cpp - what an x86-64 machine has --------------------===//
#include "runtime/CpuFeatures.h"

#include <algorithm>
#include <cpuid.h>
#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace transformer::runtime {
namespace {

enum Register { Eax, Ebx, Ecx, Edx };

/// What the operating system has to save for a feature to be usable.
enum State : uint64_t { None = 0, Avx = 0x6, Avx512 = 0xE6, Amx = 0x60000 };

struct Feature {
  std::string_view name; // as LLVM spells it
  uint32_t leaf, subleaf;
  Register reg;
  int bit;
  State state = None;
};

// Intel SDM volume 2 (CPUID), AMD APM volume 3 appendix E.
constexpr Feature table[] = {
    {"x87", 1, 0, Edx, 0},
    {"cx8", 1, 0, Edx, 8},
    {"cmov", 1, 0, Edx, 15},
    {"mmx", 1, 0, Edx, 23},
    {"fxsr", 1, 0, Edx, 24},
    {"sse", 1, 0, Edx, 25},
    {"sse2", 1, 0, Edx, 26},
    {"sse3", 1, 0, Ecx, 0},
    {"pclmul", 1, 0, Ecx, 1},
    {"ssse3", 1, 0, Ecx, 9},
    {"fma", 1, 0, Ecx, 12, Avx},
    {"cx16", 1, 0, Ecx, 13},
    {"sse4.1", 1, 0, Ecx, 19},
    {"sse4.2", 1, 0, Ecx, 20},
    {"crc32", 1, 0, Ecx, 20},
    {"movbe", 1, 0, Ecx, 22},
    {"popcnt", 1, 0, Ecx, 23},
    {"aes", 1, 0, Ecx, 25},
    {"xsave", 1, 0, Ecx, 27}, // usable only when the system has enabled it
    {"avx", 1, 0, Ecx, 28, Avx},
    {"f16c", 1, 0, Ecx, 29, Avx},
    {"rdrnd", 1, 0, Ecx, 30},
    {"fsgsbase", 7, 0, Ebx, 0},
    {"sgx", 7, 0, Ebx, 2},
    {"bmi", 7, 0, Ebx, 3},
    {"avx2", 7, 0, Ebx, 5, Avx},
    {"bmi2", 7, 0, Ebx, 8},
    {"invpcid", 7, 0, Ebx, 10},
    {"rtm", 7, 0, Ebx, 11},
    {"avx512f", 7, 0, Ebx, 16, Avx512},
    {"evex512", 7, 0, Ebx, 16, Avx512},
    {"avx512dq", 7, 0, Ebx, 17, Avx512},
    {"rdseed", 7, 0, Ebx, 18},
    {"adx", 7, 0, Ebx, 19},
    {"avx512ifma", 7, 0, Ebx, 21, Avx512},
    {"clflushopt", 7, 0, Ebx, 23},
    {"clwb", 7, 0, Ebx, 24},
    {"avx512cd", 7, 0, Ebx, 28, Avx512},
    {"sha", 7, 0, Ebx, 29},
    {"avx512bw", 7, 0, Ebx, 30, Avx512},
    {"avx512vl", 7, 0, Ebx, 31, Avx512},
    {"avx512vbmi", 7, 0, Ecx, 1, Avx512},
    {"pku", 7, 0, Ecx, 4},
    {"waitpkg", 7, 0, Ecx, 5},
    {"avx512vbmi2", 7, 0, Ecx, 6, Avx512},
    {"shstk", 7, 0, Ecx, 7},
    {"gfni", 7, 0, Ecx, 8},
    {"vaes", 7, 0, Ecx, 9, Avx},
    {"vpclmulqdq", 7, 0, Ecx, 10, Avx},
    {"avx512vnni", 7, 0, Ecx, 11, Avx512},
    {"avx512bitalg", 7, 0, Ecx, 12, Avx512},
    {"avx512vpopcntdq", 7, 0, Ecx, 14, Avx512},
    {"rdpid", 7, 0, Ecx, 22},
    {"cldemote", 7, 0, Ecx, 25},
    {"movdiri", 7, 0, Ecx, 27},
    {"movdir64b", 7, 0, Ecx, 28},
    {"enqcmd", 7, 0, Ecx, 29},
    {"uintr", 7, 0, Edx, 5},
    {"avx512vp2intersect", 7, 0, Edx, 8, Avx512},
    {"serialize", 7, 0, Edx, 14},
    {"tsxldtrk", 7, 0, Edx, 16},
    {"pconfig", 7, 0, Edx, 18},
    {"amx-bf16", 7, 0, Edx, 22, Amx},
    {"avx512fp16", 7, 0, Edx, 23, Avx512},
    {"amx-tile", 7, 0, Edx, 24, Amx},
    {"amx-int8", 7, 0, Edx, 25, Amx},
    {"sha512", 7, 1, Eax, 0, Avx},
    {"sm3", 7, 1, Eax, 1, Avx},
    {"sm4", 7, 1, Eax, 2, Avx},
    {"avxvnni", 7, 1, Eax, 4, Avx},
    {"avx512bf16", 7, 1, Eax, 5, Avx512},
    {"cmpccxadd", 7, 1, Eax, 7},
    {"amx-fp16", 7, 1, Eax, 21, Amx},
    {"hreset", 7, 1, Eax, 22},
    {"avxifma", 7, 1, Eax, 23, Avx},
    {"avxvnniint8", 7, 1, Edx, 4, Avx},
    {"avxneconvert", 7, 1, Edx, 5, Avx},
    {"amx-complex", 7, 1, Edx, 8, Amx},
    {"avxvnniint16", 7, 1, Edx, 10, Avx},
    {"prefetchi", 7, 1, Edx, 14},
    {"xsaveopt", 0xD, 1, Eax, 0},
    {"xsavec", 0xD, 1, Eax, 1},
    {"xsaves", 0xD, 1, Eax, 3},
    {"ptwrite", 0x14, 0, Ebx, 4},
    {"sahf", 0x80000001, 0, Ecx, 0},
    {"lzcnt", 0x80000001, 0, Ecx, 5},
    {"sse4a", 0x80000001, 0, Ecx, 6},
    {"prfchw", 0x80000001, 0, Ecx, 8},
    {"xop", 0x80000001, 0, Ecx, 11, Avx},
    {"lwp", 0x80000001, 0, Ecx, 15},
    {"fma4", 0x80000001, 0, Ecx, 16, Avx},
    {"tbm", 0x80000001, 0, Ecx, 21},
    {"mwaitx", 0x80000001, 0, Ecx, 29},
    {"64bit", 0x80000001, 0, Edx, 29},
    {"clzero", 0x80000008, 0, Ebx, 0},
    {"rdpru", 0x80000008, 0, Ebx, 4},
    {"wbnoinvd", 0x80000008, 0, Ebx, 9},
};

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
         (enabledState() & feature.state) == feature.state;
}

} // namespace

bool hasCpuFeature(std::string_view name) {
  for (const Feature &feature : table)
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
