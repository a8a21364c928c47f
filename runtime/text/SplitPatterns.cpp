//===- SplitPatterns.cpp - the patterns that most files have --------------===//
#include "runtime/text/SplitPatterns.h"

#include "runtime/text/CharacterClasses.h"
#include "runtime/text/Utf8.h"

#include <array>
#include <utility>

namespace transformer::runtime {
namespace {

using Kind = CharacterKind;

constexpr std::pair<std::string_view, SplitPattern> known[] = {
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
     SplitPattern::Gpt2},
    {R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
     SplitPattern::Gpt2},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     SplitPattern::Llama3},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     SplitPattern::Qwen2},
};

constexpr auto asciiKinds = [] {
  std::array<Kind, 128> table{};
  for (char c = 'a'; c <= 'z'; ++c)
    table[static_cast<size_t>(c)] = table[static_cast<size_t>(c - 'a' + 'A')] = Kind::Letter;
  for (char c = '0'; c <= '9'; ++c)
    table[static_cast<size_t>(c)] = Kind::Number;
  for (char c : {'\t', '\n', '\v', '\f', '\r', ' '})
    table[static_cast<size_t>(c)] = Kind::Space;
  return table;
}();

/// The kind of the character at text[at]; `at` moves behind it.
Kind nextKind(std::string_view text, size_t &at) {
  auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 0x80) {
    ++at;
    return asciiKinds[byte];
  }
  return kindOf(nextCharacter(text, at));
}

/// The end of the characters of a kind from `at` on, at most `limit` of them.
size_t skip(Kind kind, std::string_view text, size_t at, size_t limit = ~size_t(0)) {
  for (size_t next = at; limit > 0 && at < text.size(); at = next, --limit)
    if (nextKind(text, next) != kind)
      break;
  return at;
}

bool isLineEnd(char c) { return c == '\r' || c == '\n'; }

/// The end of 's, 't, 'm, 'd, 're, 've or 'll at text[at]; `at` when there is none.
size_t contraction(std::string_view text, size_t at, bool ignoreCase) {
  if (text[at] != '\'' || at + 1 >= text.size())
    return at;
  auto letter = [&](size_t i) {
    char c = i < text.size() ? text[i] : '\0';
    return ignoreCase && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  char first = letter(at + 1), second = letter(at + 2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd')
    return at + 2;
  if (((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l'))
    return at + 3;
  if (ignoreCase && text.substr(at + 1, 2) == "\xC5\xBF") // long s
    return at + 3;
  return at;
}

/// \s+(?!\S)|\s+: white space, but for its last character where more than white space follows.
size_t whiteSpace(std::string_view text, size_t at) {
  size_t end = skip(Kind::Space, text, at);
  if (end == text.size())
    return end;
  size_t last = end;
  previousCharacter(text, last);
  return last > at ? last : end;
}

size_t gpt2End(std::string_view text, size_t at) {
  if (size_t end = contraction(text, at, /*ignoreCase=*/false); end > at)
    return end;
  size_t start = at, next;
  if (text[at] == ' ' && at + 1 < text.size())
    ++start;
  next = start;
  Kind kind = nextKind(text, next);
  return kind == Kind::Space ? whiteSpace(text, at) : skip(kind, text, next);
}

size_t llama3End(std::string_view text, size_t at, size_t digits) {
  if (size_t end = contraction(text, at, /*ignoreCase=*/true); end > at)
    return end;
  size_t next = at;
  Kind kind = nextKind(text, next);
  if (kind == Kind::Letter)
    return skip(Kind::Letter, text, next);
  if (kind == Kind::Number)
    return skip(Kind::Number, text, next, digits - 1);
  // One character that is neither may stand before letters, a space before others.
  size_t second = next;
  Kind following = next < text.size() ? nextKind(text, second) : Kind::Space;
  if (following == Kind::Letter && !isLineEnd(text[at]))
    return skip(Kind::Letter, text, second);
  if (kind == Kind::Other || (text[at] == ' ' && following == Kind::Other)) {
    size_t end = skip(Kind::Other, text, next);
    while (end < text.size() && isLineEnd(text[end]))
      ++end;
    return end;
  }
  // White space up to its last line end, if it has one.
  size_t end = skip(Kind::Space, text, next);
  size_t line = text.substr(at, end - at).find_last_of("\r\n");
  return line != std::string_view::npos ? at + line + 1 : whiteSpace(text, at);
}

} // namespace

std::optional<SplitPattern> knownPattern(std::string_view pattern) {
  for (const auto &[text, value] : known)
    if (text == pattern)
      return value;
  return std::nullopt;
}

size_t matchEnd(SplitPattern pattern, std::string_view text, size_t at) {
  switch (pattern) {
  case SplitPattern::Gpt2:
    return gpt2End(text, at);
  case SplitPattern::Llama3:
    return llama3End(text, at, 3);
  case SplitPattern::Qwen2:
    return llama3End(text, at, 1);
  }
  return text.size();
}

} // namespace transformer::runtime
