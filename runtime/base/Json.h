//===- Json.h - reading JSON ------------------------------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_JSON_H
#define TRANSFORMER_RUNTIME_JSON_H

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace transformer::runtime {

using Json = nlohmann::json;

/// How deep lists and objects may lie in each other. Files that we read have ten levels; what works
/// on values calls itself for every level.
constexpr int maxJsonDepth = 64;

/// Parses text, the only way in which JSON comes in. Throws Error that begins with `name` when it
/// is not JSON, with line and column, or nested too deep.
Json parseJson(const std::string &name, std::string_view text);

/// A value as text, in one line; bytes that are not UTF-8 become U+FFFD.
std::string jsonText(const Json &value);

/// A value for an error message: its text, cut where it is long.
std::string describe(const Json &value);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_JSON_H
