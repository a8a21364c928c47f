//===- Registry.h - the families that can be imported ---------------------===//
#ifndef MODELS_REGISTRY_H
#define MODELS_REGISTRY_H

#include "models/Family.h"

namespace mlir::transformer {

struct Family {
  /// `model_type` of its configurations.
  llvm::StringLiteral modelType;
  /// What stands in front of its architectures' names; empty if it has none.
  llvm::StringLiteral name;
  /// Its architectures without the name, the base model first.
  llvm::ArrayRef<llvm::StringLiteral> heads;
  void (*build)(Import &import);
};

struct FamilyChoice {
  const Family *family;
  std::string head;
};

/// Finds family and head by `model_type` and `architectures`; nothing, with the
/// configuration's error set, if there is none.
std::optional<FamilyChoice> chooseFamily(Config &config);

} // namespace mlir::transformer

#endif // MODELS_REGISTRY_H
