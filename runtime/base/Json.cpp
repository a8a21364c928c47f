//===- Json.cpp - reading JSON --------------------------------------------===//
#include "runtime/base/Json.h"

#include "runtime/base/Error.h"

namespace transformer::runtime {
namespace {

/// Whether lists and objects lie in each other deeper than maxJsonDepth. The parser could tell,
/// too, but takes a sixth longer when it calls back.
bool isTooDeep(std::string_view text) {
  int depth = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '"')
      inString = !inString;
    else if (inString)
      i += c == '\\';
    else if (c == '[' || c == '{')
      ++depth;
    else if (c == ']' || c == '}')
      --depth;
    if (depth > maxJsonDepth)
      return true;
  }
  return false;
}

} // namespace

Json parseJson(const std::string &name, std::string_view text) {
  if (isTooDeep(text))
    fail("{}: JSON nested deeper than {} levels", name, maxJsonDepth);
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const Json::exception &problem) {
    // "[json.exception.parse_error.101] parse error at line 3, column 1: ... - unexpected ...; ..."
    std::string_view reason = problem.what();
    reason.remove_prefix(std::min(reason.find("] "), reason.size() - 2) + 2);
    fail("{}: not JSON: {}", name, printable(std::string(reason), 200));
  }
}

std::string jsonText(const Json &value) {
  return value.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

std::string describe(const Json &value) { return printable(jsonText(value), 40); }

} // namespace transformer::runtime
