//===- Unicode.h - characters as Hugging Face's tokenizers see them -------===//
//
// utf8proc knows Unicode 15; the `tokenizers` crate mixes several versions.
// UnicodeDelta.inc holds every code point on which they differ, so that these
// functions answer as tokenizers does for all of them.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_UNICODE_H
#define TRANSFORMER_RUNTIME_UNICODE_H

#include <string>
#include <string_view>

namespace transformer::runtime {

/// UTF-8 to code points. Each maximal invalid sequence becomes one U+FFFD, as in Python and Rust.
std::u32string decodeUtf8(std::string_view text);

/// Appends a code point as UTF-8.
void appendUtf8(std::string &text, char32_t c);
std::string encodeUtf8(std::u32string_view text);

/// Rust's char::is_whitespace.
bool isWhitespace(char32_t c);

/// What clean_text removes: controls, formats, private use, U+0000 and U+FFFD, but not tab, line
/// feed and carriage return.
bool isRemovedByClean(char32_t c);

/// What BertPreTokenizer makes a word of its own.
bool isBertPunctuation(char32_t c);

/// A nonspacing mark: what strip_accents removes.
bool isNonspacingMark(char32_t c);

/// What handle_chinese_chars puts spaces around.
bool isChinese(char32_t c);

/// Letter, digit, mark or connector: \w of a regular expression.
bool isWordCharacter(char32_t c);

/// Appends the lower case of a character, without looking at its neighbours.
void appendLower(std::u32string &text, char32_t c);

/// Canonical decomposition (NFD) of a text.
std::u32string decompose(std::u32string_view text);

/// Compatibility decomposition (NFKD) of a text.
std::u32string decomposeCompatibly(std::u32string_view text);

/// Canonical composition of a decomposed text: NFC or NFKC.
void compose(std::u32string &text);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_UNICODE_H
