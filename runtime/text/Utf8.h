//===- Utf8.h - walking over text -------------------------------*- C++ -*-===//
//
// Texts come in as any bytes; validUtf8 makes them UTF-8, and everything behind
// it keeps them so. The functions here never read beyond a text, whatever it is.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_UTF8_H
#define TRANSFORMER_RUNTIME_UTF8_H

#include <cstdint>
#include <string>
#include <string_view>

namespace transformer::runtime {

inline constexpr std::string_view spaceMark = "\u2581"; // SentencePiece's space

/// The character at text[at], at < text.size(), in UTF-8; `at` moves behind it. U+FFFD for a byte
/// that starts none.
inline char32_t nextCharacter(std::string_view text, size_t &at) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  auto low = [&](size_t i) { return byte(i) & 0x3Fu; };
  unsigned lead = byte(at);
  size_t left = text.size() - at;
  if (lead < 0x80) {
    ++at;
    return lead;
  }
  if (lead >= 0xC0 && lead < 0xE0 && left >= 2) {
    at += 2;
    return (lead & 0x1Fu) << 6 | low(at - 1);
  }
  if (lead >= 0xE0 && lead < 0xF0 && left >= 3) {
    at += 3;
    return (lead & 0xFu) << 12 | low(at - 2) << 6 | low(at - 1);
  }
  if (lead >= 0xF0 && lead < 0xF8 && left >= 4) {
    at += 4;
    return (lead & 7u) << 18 | low(at - 3) << 12 | low(at - 2) << 6 | low(at - 1);
  }
  ++at;
  return U'\uFFFD';
}

/// The character that ends at text[at], at > 0; `at` moves to its start.
inline char32_t previousCharacter(std::string_view text, size_t &at) {
  size_t end = at--;
  while (at > 0 && end - at < 4 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80)
    --at;
  size_t read = at;
  return nextCharacter(text, read);
}

/// Whether all bytes are below 0x80.
bool isAscii(std::string_view text);

/// Whether all characters are below U+0300: no form of normalisation composes them.
bool isBelowMarks(std::string_view text);

/// Whether a text is UTF-8: shortest forms, no surrogates, nothing above U+10FFFF.
bool isUtf8(std::string_view text);

/// `text`, or a copy in `storage` in which each maximal invalid sequence has become U+FFFD.
std::string_view validUtf8(std::string_view text, std::string &storage);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_UTF8_H
