//===- Error.cpp - text for error messages --------------------------------===//
#include "runtime/base/Error.h"

namespace transformer::runtime {

std::string formattedFrom(fmt::string_view format, fmt::format_args args) {
  return fmt::vformat(format, args);
}

std::string printable(const std::string &text, size_t maxLength) {
  std::string result;
  for (size_t i = 0; i < text.size() && i < maxLength; ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    result += byte < 0x20 || byte == 0x7F ? '?' : text[i];
  }
  if (text.size() > maxLength)
    result += "...";
  return result;
}

std::string shapeText(const std::vector<int64_t> &shape) {
  constexpr size_t most = 16;
  if (shape.size() <= most)
    return formatted("[{}]", fmt::join(shape, ", "));
  return formatted("[{}, ... {} sizes]", fmt::join(shape.begin(), shape.begin() + most, ", "),
                   shape.size());
}

} // namespace transformer::runtime
