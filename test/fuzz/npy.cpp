//===- npy.cpp - fuzz target: a NumPy array -------------------------------===//
#include "runtime/files/Npy.h"
#include "runtime/base/Error.h"
#include "test/fuzz/Fuzz.h"

using namespace transformer;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const fuzz::MemoryFile file;
  file.fill(fuzz::text(data, size));
  try {
    runtime::Tensor tensor = runtime::readNpy(file.path());
    fuzz::sum(tensor.data<char>(), static_cast<size_t>(tensor.bytes()));
  } catch (const runtime::Error &) {
  }
  return 0;
}
