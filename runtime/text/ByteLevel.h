//===- ByteLevel.h - bytes as printable characters --------------*- C++ -*-===//
//
// GPT-2's vocabulary writes each byte as a character: printable ones of Latin-1
// as themselves, the others as U+0100 and on.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_BYTELEVEL_H
#define TRANSFORMER_RUNTIME_BYTELEVEL_H

#include <string>
#include <string_view>

namespace transformer::runtime {

/// The character of a byte.
char32_t byteCharacter(unsigned char byte);

/// The byte of a character; -1: it is none's.
int characterByte(char32_t c);

/// Appends each byte of `bytes` as its character, in UTF-8.
void appendByteCharacters(std::string &text, std::string_view bytes);

/// Appends the bytes whose characters `text` has; false, with nothing appended, when one of its
/// characters is none's.
bool appendCharacterBytes(std::string &bytes, std::string_view text);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_BYTELEVEL_H
