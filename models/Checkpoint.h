//===- Checkpoint.h - what stands beside a config.json --------------------===//
#ifndef MODELS_CHECKPOINT_H
#define MODELS_CHECKPOINT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include <optional>
#include <string>

namespace mlir::transformer {

/// A checkpoint directory: where it is and the names of its tensors.
struct Checkpoint {
  std::string directory;
  /// Names in model.safetensors or its index; nothing without a readable header.
  std::optional<llvm::StringSet<>> tensors;

  static Checkpoint open(llvm::StringRef directory);

  /// The path of a file of the directory.
  std::string path(llvm::StringRef file) const;
  bool hasFile(llvm::StringRef file) const;

  /// Whether the names are known and `suffix` is none of them, nor the ending
  /// of one behind a prefix.
  bool lacks(llvm::StringRef suffix) const;
  /// Whether the names are known and `suffix` is one of them, or ends one.
  bool holds(llvm::StringRef suffix) const { return tensors && !lacks(suffix); }
};

} // namespace mlir::transformer

#endif // MODELS_CHECKPOINT_H
