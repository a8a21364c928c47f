//===- ElfMachine.cpp - the architecture a shared library is for ----------===//
#include "runtime/ElfMachine.h"

#include "runtime/Error.h"

#include <cstdio>
#include <cstring>
#include <elf.h>

namespace transformer::runtime {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half thisMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half thisMachine = EM_AARCH64;
#endif

/// As --arch of transformer-compile calls it.
std::string machineName(Elf64_Half machine) {
  switch (machine) {
  case EM_X86_64:
    return "x86-64";
  case EM_AARCH64:
    return "aarch64";
  default:
    return fmt::format("ELF machine {}", machine);
  }
}

} // namespace

void checkElfMachine(const std::string &path) {
  Elf64_Ehdr header;
  std::FILE *file = std::fopen(path.c_str(), "re");
  if (!file)
    return;
  size_t read = std::fread(&header, sizeof(header), 1, file);
  std::fclose(file);
  if (read != 1 || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_machine == thisMachine)
    return;
  fail("{}: a module for another machine: expected {}, found {}\ncompile it again with --arch {}",
       path, machineName(thisMachine), machineName(header.e_machine), machineName(thisMachine));
}

} // namespace transformer::runtime
