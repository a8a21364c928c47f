//===- PieceNormalizer.cpp - SentencePiece's library's own ----------------===//
#include "runtime/text/PieceNormalizer.h"

#include "runtime/text/Utf8.h"

namespace transformer::runtime {

/// What the start of `text` becomes; the start is taken off it.
std::string_view PieceNormalizer::take(std::string_view &text) const {
  size_t length = 0;
  if (userDefined)
    userDefined->eachPrefix(text, [&](size_t found, int32_t) { length = found; });
  if (length == 0 && map)
    if (auto replacement = map->longest(text, length)) {
      text.remove_prefix(length);
      return *replacement;
    }
  if (length == 0)
    nextCharacter(text, length);
  std::string_view same = text.substr(0, length);
  text.remove_prefix(length);
  return same;
}

std::string PieceNormalizer::normalize(std::string_view text) const {
  if (removeExtraWhitespaces)
    for (std::string_view rest = text; !rest.empty(); text = rest)
      if (take(rest) != " ")
        break;
  std::string out;
  if (text.empty())
    return out;
  out.reserve(text.size() + text.size() / 4 + spaceMark.size());
  if (addDummyPrefix)
    out += spaceMark;
  bool behindSpace = removeExtraWhitespaces;
  while (!text.empty()) {
    std::string_view part = take(text);
    while (behindSpace && part.starts_with(' '))
      part.remove_prefix(1);
    if (part.empty())
      continue;
    for (char c : part)
      if (c == ' ')
        out += spaceMark;
      else
        out += c;
    behindSpace = removeExtraWhitespaces && part.ends_with(' ');
  }
  if (removeExtraWhitespaces)
    while (out.ends_with(spaceMark))
      out.resize(out.size() - spaceMark.size());
  return out;
}

} // namespace transformer::runtime
