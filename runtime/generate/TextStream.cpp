//===- TextStream.cpp - text as its tokens come ---------------------------===//
#include "runtime/generate/TextStream.h"

#include "runtime/text/Unicode.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace transformer::runtime {
namespace {

/// How many bytes a character has that begins with `first` and, maybe, `second`; 0 when none does.
/// `limits` are those of the second byte.
size_t characterSize(uint8_t first, std::pair<uint8_t, uint8_t> &limits) {
  limits = {0x80, 0xBF};
  if (first < 0x80)
    return 1;
  if (first >= 0xC2 && first <= 0xDF)
    return 2;
  if (first >= 0xE0 && first <= 0xEF) {
    limits = {first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF};
    return 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    limits = {first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF};
    return 4;
  }
  return 0;
}

/// Whether bytes are the beginning of a character, and no whole one.
bool beginsCharacter(std::string_view bytes) {
  std::pair<uint8_t, uint8_t> limits;
  if (bytes.empty() || bytes.size() >= characterSize(uint8_t(bytes[0]), limits))
    return false;
  for (size_t i = 1; i < bytes.size(); ++i) {
    auto byte = uint8_t(bytes[i]);
    if (byte < limits.first || byte > limits.second)
      return false;
    limits = {0x80, 0xBF};
  }
  return true;
}

} // namespace

std::string Utf8Stream::put(std::string_view bytes) {
  pending += bytes;
  // The last three bytes may begin a character.
  size_t whole = pending.size();
  for (size_t length = 1; length <= std::min<size_t>(3, pending.size()); ++length)
    if (beginsCharacter(std::string_view(pending).substr(pending.size() - length)))
      whole = pending.size() - length;
  std::string result = encodeUtf8(decodeUtf8(std::string_view(pending).substr(0, whole)));
  pending.erase(0, whole);
  return result;
}

std::string Utf8Stream::finish() { return encodeUtf8(decodeUtf8(std::exchange(pending, {}))); }

std::string StopStringFilter::put(std::string_view text) {
  if (found)
    return {};
  held += text;
  size_t stop = std::string::npos, safe = held.size();
  for (const std::string &string : strings) {
    stop = std::min(stop, held.find(string));
    // Its beginning may be the end of what there is.
    size_t from = held.size() - std::min(held.size(), string.size() - 1);
    while (from < safe && !string.starts_with(std::string_view(held).substr(from)))
      ++from;
    safe = std::min(safe, from);
  }
  found = stop != std::string::npos;
  if (found)
    safe = stop;
  std::string result = held.substr(0, safe);
  held.erase(0, found ? held.size() : safe);
  return result;
}

std::string StopStringFilter::finish() {
  found = false;
  return std::exchange(held, {});
}

} // namespace transformer::runtime
