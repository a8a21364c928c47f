//===- ElfFile.h - what a shared library is, before and once loaded -*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_ELFFILE_H
#define TRANSFORMER_RUNTIME_ELFFILE_H

#include "runtime/abi/ModuleAbi.h"

#include <string>

namespace transformer::runtime {

/// Throws Error when `path` is no ELF file, is for another architecture than this program (of such
/// a file the dynamic linker would only say that it does not exist), or is shorter than its
/// segments and its table of sections (which the dynamic linker would map, and then die).
void checkElfFile(const std::string &path);

/// Throws Error when what `abi` points to does not lie in the loaded file that `abi` itself is in:
/// text and table in readable segments, functions in executable ones.
void checkInsideImage(const tr_module &abi, const std::string &path);

/// The same of a module's kernels.
void checkInsideImage(const tr_device_module &abi, const std::string &path);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_ELFFILE_H
