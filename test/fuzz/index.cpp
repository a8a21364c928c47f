//===- index.cpp - fuzz target: an index of shards ------------------------===//
#include "runtime/base/Error.h"
#include "runtime/files/Checkpoint.h"
#include "test/fuzz/Fuzz.h"

using namespace transformer;

namespace {

/// An index beside two shards.
struct Shards {
  fuzz::Folder folder{"model.safetensors.index.json", "a.safetensors", "b.safetensors"};

  Shards() {
    folder.files[1].fill(shard("a"));
    folder.files[2].fill(shard("b"));
  }

  static std::string shard(const std::string &name) {
    std::string header = R"({")" + name + R"(":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
    return std::string{char(header.size())} + std::string(7, '\0') + header + "1234";
  }
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const Shards shards;
  shards.folder.files[0].fill(fuzz::text(data, size));
  try {
    runtime::Checkpoint::open(shards.folder.path).find("a");
  } catch (const runtime::Error &) {
  }
  return 0;
}
