//===- Json.h - reading JSON files of a checkpoint ------------------------===//
#ifndef MODELS_JSON_H
#define MODELS_JSON_H

#include "llvm/ADT/StringRef.h"
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace mlir::transformer {

using Json = nlohmann::json;

/// Parses text; nothing and the reason if it is not JSON or nested deeper than 64 levels, for each
/// of which what works on values calls itself.
std::optional<Json> parseJson(llvm::StringRef text, std::string &reason);

/// Reads and parses `file`; nothing and a one-line error if that fails.
std::optional<Json> readJson(llvm::StringRef file, std::string &error);

/// A value for an error message: its text if short, else its kind.
std::string describe(const Json &value);

} // namespace mlir::transformer

#endif // MODELS_JSON_H
