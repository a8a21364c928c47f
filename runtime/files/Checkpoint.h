//===- Checkpoint.h - the weights of a model --------------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_CHECKPOINT_H
#define TRANSFORMER_RUNTIME_CHECKPOINT_H

#include "runtime/files/Safetensors.h"

#include <memory>
#include <optional>
#include <string>

namespace transformer::runtime {

/// Where weights lie inside a bigger file.
struct EmbeddedWeights {
  uint64_t offset; // bytes from the start of the file
  uint64_t size;   // bytes
};

/// Looks for weights at the end of `path`: the last 24 bytes are "TRWEIGHT", then offset and size
/// as little-endian u64. None when they are not there; throws Error when they are nonsense.
std::optional<EmbeddedWeights> findEmbeddedWeights(const std::string &path);

/// One or more safetensors files that hold a model's tensors.
class Checkpoint {
public:
  struct Found {
    const SafetensorsFile *file;
    const TensorView *view;
  };

  /// Opens a .safetensors file, an index of shards (*.index.json) or a folder that holds
  /// model.safetensors or model.safetensors.index.json; of a folder of adapters the model that is
  /// adapted, and the adapters. Throws Error.
  static Checkpoint open(const std::string &path);

  /// Opens the weights that are embedded in the file at `path`.
  static Checkpoint openEmbedded(const std::string &path, EmbeddedWeights where);

  /// The tensor of that name, if there is one.
  std::optional<Found> find(const std::string &name) const;

  /// What to call it in messages.
  const std::string &path() const { return name; }

  /// The folder that the files lie in, where config and tokenizer are looked for.
  const std::string &folder() const { return directory; }

  const std::vector<std::unique_ptr<SafetensorsFile>> &files() const { return shards; }

  /// Throws Error when one of the files has been written to since it was opened.
  void checkUnchanged() const;

private:
  std::string name, directory;
  std::vector<std::unique_ptr<SafetensorsFile>> shards;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_CHECKPOINT_H
