//===- elf.cpp - fuzz target: a module's file, before it is loaded --------===//
#include "runtime/base/Error.h"
#include "runtime/files/ElfFile.h"
#include "test/fuzz/Fuzz.h"

using namespace transformer;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const fuzz::MemoryFile file;
  file.fill(fuzz::text(data, size));
  try {
    runtime::checkElfFile(file.path());
  } catch (const runtime::Error &) {
  }
  return 0;
}
