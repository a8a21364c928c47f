//===- safetensors.cpp - fuzz target: a file of tensors -------------------===//
#include "runtime/files/Safetensors.h"
#include "runtime/base/Error.h"
#include "test/fuzz/Fuzz.h"

using namespace transformer;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const fuzz::MemoryFile file;
  file.fill(fuzz::text(data, size));
  try {
    runtime::SafetensorsFile tensors(file.path());
    for (const auto &[name, view] : tensors.tensors())
      fuzz::sum(view.data, view.bytes);
  } catch (const runtime::Error &) {
  }
  return 0;
}
