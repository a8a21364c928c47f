//===- config.cpp - fuzz target: config.json ------------------------------===//
#include "test/fuzz/Import.h"

using namespace transformer;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const fuzz::Folder folder{"config.json"};
  folder.fill(fuzz::text(data, size));
  fuzz::import(folder.path);
  return 0;
}
