//===- ByteLevel.cpp - bytes as printable characters ----------------------===//
#include "runtime/text/ByteLevel.h"

#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

#include <array>

namespace transformer::runtime {
namespace {

constexpr bool isItself(unsigned byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr auto characters = [] {
  std::array<char32_t, 256> table{};
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte)
    table[byte] = isItself(byte) ? byte : next++;
  return table;
}();

constexpr auto bytesOfCharacters = [] {
  std::array<short, 0x144> table{};
  table.fill(-1);
  for (unsigned byte = 0; byte < 256; ++byte)
    table[characters[byte]] = static_cast<short>(byte);
  return table;
}();

} // namespace

char32_t byteCharacter(unsigned char byte) { return characters[byte]; }

int characterByte(char32_t c) { return c < bytesOfCharacters.size() ? bytesOfCharacters[c] : -1; }

void appendByteCharacters(std::string &text, std::string_view bytes) {
  for (char byte : bytes)
    appendUtf8(text, byteCharacter(static_cast<unsigned char>(byte)));
}

bool appendCharacterBytes(std::string &bytes, std::string_view text) {
  size_t before = bytes.size();
  for (size_t at = 0; at < text.size();) {
    int byte = characterByte(nextCharacter(text, at));
    if (byte < 0) {
      bytes.resize(before);
      return false;
    }
    bytes += static_cast<char>(byte);
  }
  return true;
}

} // namespace transformer::runtime
