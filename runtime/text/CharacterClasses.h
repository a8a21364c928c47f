//===- CharacterClasses.h - what regular expressions see --------*- C++ -*-===//
//
// `tokenizers` runs patterns on Oniguruma, whose Unicode is newer than
// utf8proc's. CharacterClasses.inc holds where they differ.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_CHARACTERCLASSES_H
#define TRANSFORMER_RUNTIME_CHARACTERCLASSES_H

#include <cstdint>

namespace transformer::runtime {

/// What the patterns of byte-level tokenizers tell apart: \p{L}, \p{N}, \s and the rest.
enum class CharacterKind : uint8_t { Other, Letter, Number, Space };

CharacterKind kindOf(char32_t c);

/// Rust's char::is_numeric.
bool isNumeric(char32_t c);

/// A combining mark: what StripAccents removes.
bool isCombiningMark(char32_t c);

/// `c`, or, where utf8proc does not attach it to a letter as `tokenizers` does, or the other way
/// round, a character that it treats so.
char32_t graphemeStandIn(char32_t c);

/// \w of Rust's regular expressions.
bool isRegexWord(char32_t c);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_CHARACTERCLASSES_H
