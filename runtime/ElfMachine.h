//===- ElfMachine.h - the architecture a shared library is for --*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_ELFMACHINE_H
#define TRANSFORMER_RUNTIME_ELFMACHINE_H

#include <string>

namespace transformer::runtime {

/// Throws Error naming both architectures when `path` is an ELF file for another one than this
/// program. Of such a file the dynamic linker would only say that it does not exist. Whatever else
/// is wrong with a file is left to the dynamic linker.
void checkElfMachine(const std::string &path);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_ELFMACHINE_H
