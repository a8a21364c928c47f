//===- packed.cpp - fuzz target: packed weights ---------------------------===//
#include "runtime/abi/Description.h"
#include "runtime/base/Error.h"
#include "runtime/files/Checkpoint.h"
#include "runtime/files/PackedWeights.h"
#include "test/fuzz/Fuzz.h"

using namespace transformer;
using namespace transformer::runtime;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const fuzz::MemoryFile file;
  static const Description description = [] {
    Description made;
    made.text = "{}";
    return made;
  }();
  static const Checkpoint weights;
  file.fill(fuzz::text(data, size));
  try {
    PackedWeights packed(file.path(), description, weights, 4096);
    if (packed.data())
      fuzz::sum(packed.data(), 4096);
    PackedWeights::check(file.path(), description, nullptr);
    PackedWeights::check(file.path(), description, &weights);
  } catch (const Error &) {
  }
  return 0;
}
