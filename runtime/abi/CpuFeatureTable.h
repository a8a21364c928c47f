//===- CpuFeatureTable.h - the CPU features that have names -----*- C++ -*-===//
//
// The compiler reads here what generated code may use, the runtime how a CPU
// says that it has it. A feature is one line.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_CPUFEATURETABLE_H
#define TRANSFORMER_RUNTIME_CPUFEATURETABLE_H

#include <cstdint>
#include <string_view>

namespace transformer::runtime {

/// What generated code does with a feature.
enum class FeatureUse {
  Never,   // another's module may ask for it
  Base,    // every CPU of the architecture has it: used without asking
  Checked, // used where the target has it; the program asks before it runs
};

namespace x86 {

using enum FeatureUse;

enum Register { Eax, Ebx, Ecx, Edx };

/// What the operating system has to save for a feature to be usable.
enum SavedState : uint64_t { None = 0, Avx = 0x6, Avx512 = 0xE6, Amx = 0x60000 };

struct Feature {
  std::string_view name; // as LLVM spells it
  FeatureUse use;
  uint32_t leaf, subleaf; // of CPUID
  Register reg;
  int bit;
  SavedState state = None;
};

// Intel SDM volume 2 (CPUID), AMD APM volume 3 appendix E.
inline constexpr Feature features[] = {
    {"x87", Base, 1, 0, Edx, 0},
    {"cx8", Base, 1, 0, Edx, 8},
    {"cmov", Base, 1, 0, Edx, 15},
    {"mmx", Base, 1, 0, Edx, 23},
    {"fxsr", Base, 1, 0, Edx, 24},
    {"sse", Base, 1, 0, Edx, 25},
    {"sse2", Base, 1, 0, Edx, 26},
    {"sse3", Checked, 1, 0, Ecx, 0},
    {"pclmul", Never, 1, 0, Ecx, 1},
    {"ssse3", Checked, 1, 0, Ecx, 9},
    {"fma", Checked, 1, 0, Ecx, 12, Avx},
    {"cx16", Checked, 1, 0, Ecx, 13},
    {"sse4.1", Checked, 1, 0, Ecx, 19},
    {"sse4.2", Checked, 1, 0, Ecx, 20},
    {"crc32", Never, 1, 0, Ecx, 20},
    {"movbe", Checked, 1, 0, Ecx, 22},
    {"popcnt", Checked, 1, 0, Ecx, 23},
    {"aes", Never, 1, 0, Ecx, 25},
    {"xsave", Never, 1, 0, Ecx, 27}, // usable only when the system has enabled it
    {"avx", Checked, 1, 0, Ecx, 28, Avx},
    {"f16c", Checked, 1, 0, Ecx, 29, Avx},
    {"rdrnd", Never, 1, 0, Ecx, 30},
    {"fsgsbase", Never, 7, 0, Ebx, 0},
    {"sgx", Never, 7, 0, Ebx, 2},
    {"bmi", Checked, 7, 0, Ebx, 3},
    {"avx2", Checked, 7, 0, Ebx, 5, Avx},
    {"bmi2", Checked, 7, 0, Ebx, 8},
    {"invpcid", Never, 7, 0, Ebx, 10},
    {"rtm", Never, 7, 0, Ebx, 11},
    {"avx512f", Checked, 7, 0, Ebx, 16, Avx512},
    {"evex512", Checked, 7, 0, Ebx, 16, Avx512},
    {"avx512dq", Checked, 7, 0, Ebx, 17, Avx512},
    {"rdseed", Never, 7, 0, Ebx, 18},
    {"adx", Checked, 7, 0, Ebx, 19},
    {"avx512ifma", Checked, 7, 0, Ebx, 21, Avx512},
    {"clflushopt", Never, 7, 0, Ebx, 23},
    {"clwb", Never, 7, 0, Ebx, 24},
    {"avx512cd", Checked, 7, 0, Ebx, 28, Avx512},
    {"sha", Never, 7, 0, Ebx, 29},
    {"avx512bw", Checked, 7, 0, Ebx, 30, Avx512},
    {"avx512vl", Checked, 7, 0, Ebx, 31, Avx512},
    {"avx512vbmi", Checked, 7, 0, Ecx, 1, Avx512},
    {"pku", Never, 7, 0, Ecx, 4},
    {"waitpkg", Never, 7, 0, Ecx, 5},
    {"avx512vbmi2", Checked, 7, 0, Ecx, 6, Avx512},
    {"shstk", Never, 7, 0, Ecx, 7},
    {"gfni", Checked, 7, 0, Ecx, 8},
    {"vaes", Never, 7, 0, Ecx, 9, Avx},
    {"vpclmulqdq", Never, 7, 0, Ecx, 10, Avx},
    {"avx512vnni", Checked, 7, 0, Ecx, 11, Avx512},
    {"avx512bitalg", Checked, 7, 0, Ecx, 12, Avx512},
    {"avx512vpopcntdq", Checked, 7, 0, Ecx, 14, Avx512},
    {"rdpid", Never, 7, 0, Ecx, 22},
    {"cldemote", Never, 7, 0, Ecx, 25},
    {"movdiri", Never, 7, 0, Ecx, 27},
    {"movdir64b", Never, 7, 0, Ecx, 28},
    {"enqcmd", Never, 7, 0, Ecx, 29},
    {"uintr", Never, 7, 0, Edx, 5},
    {"avx512vp2intersect", Never, 7, 0, Edx, 8, Avx512},
    {"serialize", Never, 7, 0, Edx, 14},
    {"tsxldtrk", Never, 7, 0, Edx, 16},
    {"pconfig", Never, 7, 0, Edx, 18},
    {"amx-bf16", Checked, 7, 0, Edx, 22, Amx},
    {"avx512fp16", Checked, 7, 0, Edx, 23, Avx512},
    {"amx-tile", Checked, 7, 0, Edx, 24, Amx},
    {"amx-int8", Never, 7, 0, Edx, 25, Amx},
    {"sha512", Never, 7, 1, Eax, 0, Avx},
    {"sm3", Never, 7, 1, Eax, 1, Avx},
    {"sm4", Never, 7, 1, Eax, 2, Avx},
    {"avxvnni", Checked, 7, 1, Eax, 4, Avx},
    {"avx512bf16", Checked, 7, 1, Eax, 5, Avx512},
    {"cmpccxadd", Never, 7, 1, Eax, 7},
    {"amx-fp16", Never, 7, 1, Eax, 21, Amx},
    {"hreset", Never, 7, 1, Eax, 22},
    {"avxifma", Never, 7, 1, Eax, 23, Avx},
    {"avxvnniint8", Never, 7, 1, Edx, 4, Avx},
    {"avxneconvert", Never, 7, 1, Edx, 5, Avx},
    {"amx-complex", Never, 7, 1, Edx, 8, Amx},
    {"avxvnniint16", Never, 7, 1, Edx, 10, Avx},
    {"prefetchi", Never, 7, 1, Edx, 14},
    {"xsaveopt", Never, 0xD, 1, Eax, 0},
    {"xsavec", Never, 0xD, 1, Eax, 1},
    {"xsaves", Never, 0xD, 1, Eax, 3},
    {"ptwrite", Never, 0x14, 0, Ebx, 4},
    {"sahf", Checked, 0x80000001, 0, Ecx, 0},
    {"lzcnt", Checked, 0x80000001, 0, Ecx, 5},
    {"sse4a", Checked, 0x80000001, 0, Ecx, 6},
    {"prfchw", Checked, 0x80000001, 0, Ecx, 8},
    {"xop", Checked, 0x80000001, 0, Ecx, 11, Avx},
    {"lwp", Never, 0x80000001, 0, Ecx, 15},
    {"fma4", Checked, 0x80000001, 0, Ecx, 16, Avx},
    {"tbm", Checked, 0x80000001, 0, Ecx, 21},
    {"mwaitx", Never, 0x80000001, 0, Ecx, 29},
    {"64bit", Base, 0x80000001, 0, Edx, 29},
    {"clzero", Never, 0x80000008, 0, Ebx, 0},
    {"rdpru", Never, 0x80000008, 0, Ebx, 4},
    {"wbnoinvd", Never, 0x80000008, 0, Ebx, 9},
};

} // namespace x86

namespace aarch64 {

using enum FeatureUse;

struct Feature {
  std::string_view name; // as LLVM spells it
  FeatureUse use;
  uint64_t capability; // of AT_HWCAP
};

// Linux, Documentation/arch/arm64/elf_hwcaps.rst. The kernel lists what it lets programs use.
inline constexpr Feature features[] = {
    {"fp-armv8", Base, 1 << 0},
    {"neon", Checked, 1 << 1},
};

} // namespace aarch64

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_CPUFEATURETABLE_H
