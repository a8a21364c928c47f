#include "runtime/abi/TileData.h"
#include "runtime/execute/CpuFeatures.h"
#include "test/runtime/FakeModule.h"
#include "test/runtime/TestSupport.h"

#include <elf.h>
#include <nlohmann/json.hpp>
#include <sys/syscall.h>
#include <unistd.h>

using namespace transformer::runtime;
using nlohmann::json;
using Names = std::vector<std::string>;

namespace {

#if defined(__x86_64__)
constexpr const char *thisMachine = "x86-64", *otherMachine = "aarch64", *present = "sse2";
constexpr Elf64_Half thisElf = EM_X86_64, otherElf = EM_AARCH64;
#else
constexpr const char *thisMachine = "aarch64", *otherMachine = "x86-64", *present = "neon";
constexpr Elf64_Half thisElf = EM_AARCH64, otherElf = EM_X86_64;
#endif

TEST(CpuFeatures, MissingOnesInTheirOrder) {
  std::string plus = std::string("+") + present;
  EXPECT_EQ(missingCpuFeatures({present, plus, "-avx4096", "fast-lzcnt"}), Names());
  EXPECT_EQ(missingCpuFeatures({"avx4096", present, "+abacus"}), (Names{"avx4096", "+abacus"}));
}

#if defined(__x86_64__)
TEST(CpuFeatures, AgreeWithTheCompiler) {
  EXPECT_EQ(missingCpuFeatures({"avx2"}).empty(), bool(__builtin_cpu_supports("avx2")));
  EXPECT_EQ(missingCpuFeatures({"fma"}).empty(), bool(__builtin_cpu_supports("fma")));
  EXPECT_EQ(missingCpuFeatures({"avx512f"}).empty(), bool(__builtin_cpu_supports("avx512f")));
  EXPECT_EQ(missingCpuFeatures({"64bit"}), Names());
  EXPECT_EQ(missingCpuFeatures({"neon"}), Names{"neon"});
  std::string best = __builtin_cpu_supports("x86-64-v4")   ? "x86-64-v4"
                     : __builtin_cpu_supports("x86-64-v3") ? "x86-64-v3"
                     : __builtin_cpu_supports("x86-64-v2") ? "x86-64-v2"
                                                           : "x86-64";
  EXPECT_EQ(bestArch(), best);
}

/// A CPU without matrix registers never has them, whatever the system says; one that has them has
/// both or, where the system keeps them, neither.
TEST(CpuFeatures, MatrixRegistersAreAskedFor) {
  bool tile = hasCpuFeature("amx-tile");
  EXPECT_EQ(tile, hasCpuFeature("amx-bf16"));
  EXPECT_LE(tile, mayUseTileData());
  if (tile) {
    uint64_t permitted = 0;
    ASSERT_EQ(syscall(SYS_arch_prctl, 0x1022, &permitted), 0); // ARCH_GET_XCOMP_PERM
    EXPECT_TRUE(permitted >> 18 & 1);
  }
}
#endif

TEST(Module, RefusesCodeForAnotherCpu) {
  json description = json::parse(fakeDescription);
  description["target"]["features"] = {present, "avx4096", "fast-lzcnt"};
  std::string text = description.dump();
  tr_module abi = fakeModule(text);
  Module module(abi, "fake");
  std::string message = errorOf([&] { module.checkCpu(); });
  expectContains(message, {"compiled for z80", "lacks: avx4096\n", "--arch ", thisMachine});
  EXPECT_EQ(message.find(present), std::string::npos);
  EXPECT_NO_THROW(Module(fakeModule(), "fake").checkCpu());
}

/// A file that starts as a shared library for an ELF machine does.
std::string sharedLibrary(Elf64_Half machine) {
  Elf64_Ehdr header = {};
  std::copy_n(ELFMAG, SELFMAG, header.e_ident);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = machine;
  return std::string(reinterpret_cast<const char *>(&header), sizeof(header));
}

TEST(Module, NamesTheMachineThatAModuleIsFor) {
  TemporaryFolder folder;
  std::string file = folder.write("module.so", sharedLibrary(otherElf));
  expectContains(
      errorOf([&] { Module::open(file); }),
      {file, std::string("expected ") + thisMachine, std::string("found ") + otherMachine});
  file = folder.write("riscv.so", sharedLibrary(EM_RISCV));
  expectContains(errorOf([&] { Module::open(file); }), {file, "found ELF machine 243"});
  // Of this machine, but broken; and no ELF file at all: the dynamic linker's words.
  for (const std::string &bytes :
       {sharedLibrary(thisElf), std::string("\x7f") + "ELF", std::string()}) {
    file = folder.write("broken.so", bytes);
    std::string message = errorOf([&] { Module::open(file); });
    expectContains(message, {file});
    EXPECT_EQ(message.find("another machine"), std::string::npos) << message;
  }
}

} // namespace
