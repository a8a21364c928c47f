//===- Charsmap.cpp - SentencePiece's normalisation -----------------------===//
#include "runtime/text/Charsmap.h"

#include "runtime/base/Error.h"
#include "runtime/text/CharacterClasses.h"
#include "runtime/text/Utf8.h"

#include <utf8proc.h>

#include <array>
#include <cstring>

namespace transformer::runtime {
namespace {

// A unit of the array: bits 0-7 and 31 its label, bit 8 that a key ends here, bits 10 and on where
// its children are. A unit behind such a key holds its value in bits 0-30.
constexpr uint32_t keyEnds = 1u << 8;
constexpr size_t offsetOf(uint32_t unit) { return size_t(unit >> 10) << ((unit & 1u << 9) >> 6); }
constexpr uint32_t labelOf(uint32_t unit) { return unit & (1u << 31 | 0xFF); }

constexpr uint8_t noDigit = 64; // of base64

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

/// Calls visit(length, replacement) for each key that `text` starts with, the shortest first, until
/// it says false.
template <typename Visit> void Charsmap::eachKey(std::string_view text, Visit visit) const {
  if (array.empty())
    return;
  size_t at = offsetOf(array[0]);
  for (size_t i = 0; i < text.size(); ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    at ^= byte;
    if (byte == 0 || at >= array.size() || labelOf(array[at]) != byte)
      return;
    uint32_t unit = array[at];
    at ^= offsetOf(unit);
    if (!(unit & keyEnds))
      continue;
    size_t begin = at < array.size() ? array[at] & ~(1u << 31) : replacements.size();
    // A value that a damaged file has may be no start of a character.
    std::string_view replacement;
    if (begin < replacements.size() &&
        (static_cast<unsigned char>(replacements[begin]) & 0xC0) != 0x80)
      replacement = replacements.c_str() + begin;
    if (!visit(i + 1, replacement))
      return;
  }
}

/// What the shortest key that `chunk` starts with is replaced by.
std::optional<std::string_view> Charsmap::replacementOf(std::string_view chunk) const {
  std::optional<std::string_view> found;
  eachKey(chunk, [&](size_t, std::string_view replacement) {
    found = replacement;
    return false;
  });
  return found;
}

std::optional<std::string_view> Charsmap::longest(std::string_view text, size_t &length) const {
  std::optional<std::string_view> found;
  eachKey(text, [&](size_t size, std::string_view replacement) {
    found = replacement;
    length = size;
    return true;
  });
  return found;
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
  static constexpr auto digits = [] { // of each byte
    std::array<uint8_t, 256> values{};
    values.fill(noDigit);
    uint8_t value = 0;
    for (char c :
         std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"))
      values[static_cast<unsigned char>(c)] = value++;
    return values;
  }();
  while (!text.empty() && text.back() == '=')
    text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    uint8_t digit = digits[static_cast<unsigned char>(c)];
    if (digit == noDigit)
      return std::nullopt;
    bits = bits << 6 | digit;
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(bits >> count & 0xFF);
    }
  }
  return bytes;
}

} // namespace transformer::runtime
