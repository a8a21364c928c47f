//===- Utf8.cpp - walking over text ---------------------------------------===//
#include "runtime/text/Utf8.h"

#include "runtime/text/Unicode.h"

#include <algorithm>
#include <cstring>

namespace transformer::runtime {
namespace {

/// The first place from `at` on whose byte is not ASCII; eight at a time.
size_t skipAscii(std::string_view text, size_t at) {
  constexpr uint64_t high = 0x8080808080808080;
  uint64_t word;
  for (; at + sizeof(word) <= text.size(); at += sizeof(word)) {
    std::memcpy(&word, text.data() + at, sizeof(word));
    if (word & high)
      break;
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80)
    ++at;
  return at;
}

/// Bytes of the valid sequence at text[at], which is not ASCII; 0: it is not valid.
size_t validLength(std::string_view text, size_t at) {
  auto byte = [&](size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0;
  };
  auto follows = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  unsigned lead = byte(0), second = byte(1);
  if (lead >= 0xC2 && lead < 0xE0)
    return follows(1) ? 2 : 0;
  if (lead >= 0xE0 && lead < 0xF0) {
    bool ok = follows(1) && follows(2) && !(lead == 0xE0 && second < 0xA0) &&
              !(lead == 0xED && second >= 0xA0);
    return ok ? 3 : 0;
  }
  if (lead >= 0xF0 && lead < 0xF5) {
    bool ok = follows(1) && follows(2) && follows(3) && !(lead == 0xF0 && second < 0x90) &&
              !(lead == 0xF4 && second >= 0x90);
    return ok ? 4 : 0;
  }
  return 0;
}

} // namespace

bool isAscii(std::string_view text) { return skipAscii(text, 0) == text.size(); }

bool isBelowMarks(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0xCC; });
}

bool isUtf8(std::string_view text) {
  for (size_t at = skipAscii(text, 0); at < text.size(); at = skipAscii(text, at)) {
    size_t length = validLength(text, at);
    if (length == 0)
      return false;
    at += length;
  }
  return true;
}

std::string_view validUtf8(std::string_view text, std::string &storage) {
  if (isUtf8(text))
    return text;
  storage = encodeUtf8(decodeUtf8(text));
  return storage;
}

} // namespace transformer::runtime
