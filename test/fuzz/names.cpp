//===- names.cpp - fuzz target: tensors' names as the importer reads them -===//
#include "models/Checkpoint.h"
#include "test/fuzz/Fuzz.h"

using namespace transformer;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const fuzz::Folder folder{"model.safetensors"};
  static const fuzz::Folder index{"model.safetensors.index.json"};
  folder.files[0].fill(fuzz::text(data, size));
  index.files[0].fill(fuzz::text(data, size));
  for (const fuzz::Folder *files : {&folder, &index})
    mlir::transformer::Checkpoint::open(files->path.string()).lacks("lm_head.weight");
  return 0;
}
