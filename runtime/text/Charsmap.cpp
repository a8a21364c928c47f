//===- Charsmap.cpp - SentencePiece's normalisation -----------------------===//
#include "runtime/text/Charsmap.h"

#include "runtime/base/Error.h"
#include "runtime/text/CharacterClasses.h"
#include "runtime/text/Utf8.h"

#include <utf8proc.h>

#include <cstring>

namespace transformer::runtime {
namespace {

// A unit of the array: bits 0-7 and 31 its label, bit 8 that a key ends here, bits 10 and on where
// its children are. A unit behind such a key holds its value in bits 0-30.
constexpr uint32_t keyEnds = 1u << 8;
constexpr size_t offsetOf(uint32_t unit) { return size_t(unit >> 10) << ((unit & 1u << 9) >> 6); }
constexpr uint32_t labelOf(uint32_t unit) { return unit & (1u << 31 | 0xFF); }

constexpr size_t maxCluster = 6; // longer ones are replaced by character

bool continuesCluster(char32_t before, char32_t c, utf8proc_int32_t &state) {
  return !utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(before),
                                           static_cast<utf8proc_int32_t>(c), &state);
}

} // namespace

Charsmap::Charsmap(const std::string &where, std::string_view data) {
  uint32_t bytes = 0;
  if (data.size() < sizeof(bytes))
    fail("{}: expected at least 4 bytes, found {}", where, data.size());
  std::memcpy(&bytes, data.data(), sizeof(bytes));
  data.remove_prefix(sizeof(bytes));
  if (bytes > data.size())
    fail("{}: expected an array of {} bytes, found {}", where, bytes, data.size());
  array.resize(bytes / sizeof(uint32_t));
  if (!array.empty())
    std::memcpy(array.data(), data.data(), array.size() * sizeof(uint32_t));
  replacements = data.substr(array.size() * sizeof(uint32_t));
  if (!isUtf8(replacements))
    fail("{}: the replacements are not UTF-8", where);
  for (char c = 1; c < 127; ++c)
    ofAscii[static_cast<size_t>(c)] = replacementOf({&c, 1});
  char last = 127;
  ofAscii[127] = replacementOf({&last, 1});
}

/// What the shortest key that `chunk` starts with is replaced by.
std::optional<std::string_view> Charsmap::replacementOf(std::string_view chunk) const {
  if (array.empty())
    return std::nullopt;
  size_t at = offsetOf(array[0]);
  for (char c : chunk) {
    auto byte = static_cast<unsigned char>(c);
    at ^= byte;
    if (byte == 0 || at >= array.size() || labelOf(array[at]) != byte)
      return std::nullopt;
    uint32_t unit = array[at];
    at ^= offsetOf(unit);
    if (!(unit & keyEnds))
      continue;
    size_t begin = at < array.size() ? array[at] & ~(1u << 31) : replacements.size();
    // A value that a damaged file has may be no start of a character.
    if (begin >= replacements.size() ||
        (static_cast<unsigned char>(replacements[begin]) & 0xC0) == 0x80)
      return std::string_view();
    return std::string_view(replacements.c_str() + begin);
  }
  return std::nullopt;
}

void Charsmap::cluster(std::string_view text, std::string &out) const {
  if (text.size() < maxCluster)
    if (auto replacement = replacementOf(text)) {
      out += *replacement;
      return;
    }
  for (size_t at = 0; at < text.size();) {
    size_t begin = at;
    nextCharacter(text, at);
    std::string_view character = text.substr(begin, at - begin);
    out += replacementOf(character).value_or(character);
  }
}

void Charsmap::normalize(std::string_view text, std::string &out) const {
  out.reserve(out.size() + text.size());
  for (size_t at = 0; at < text.size();) {
    auto byte = static_cast<unsigned char>(text[at]);
    bool alone = at + 1 == text.size() || (static_cast<unsigned char>(text[at + 1]) < 0x80 &&
                                           !(byte == '\r' && text[at + 1] == '\n'));
    if (byte < 0x80 && alone) {
      if (ofAscii[byte])
        out += *ofAscii[byte];
      else
        out += text[at];
      ++at;
      continue;
    }
    size_t end = at;
    utf8proc_int32_t state = 0;
    char32_t before = graphemeStandIn(nextCharacter(text, end));
    for (size_t next = end; next < text.size(); end = next) {
      char32_t c = graphemeStandIn(nextCharacter(text, next));
      if (!continuesCluster(before, c, state))
        break;
      before = c;
    }
    cluster(text.substr(at, end - at), out);
    at = end;
  }
}

std::optional<std::string> decodeBase64(std::string_view text) {
  static constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  while (!text.empty() && text.back() == '=')
    text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    size_t digit = digits.find(c);
    if (digit == std::string_view::npos)
      return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(bits >> count & 0xFF);
    }
  }
  return bytes;
}

} // namespace transformer::runtime
