//===- Normalizer.cpp - the field normalizer of tokenizer.json ------------===//
#include "runtime/text/Normalizer.h"

#include "runtime/text/ByteLevel.h"
#include "runtime/text/CharacterClasses.h"
#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

namespace transformer::runtime {
namespace {

/// Replaces the text by the characters for which keep(c) holds.
template <typename Keep> void filter(NormalizedText &text, Keep keep) {
  size_t first = 0;
  if (!text.text.empty() && !keep(nextCharacter(text.text, first)))
    text.atStart = false;
  std::string kept;
  kept.reserve(text.text.size());
  for (size_t at = 0; at < text.text.size();) {
    size_t begin = at;
    if (keep(nextCharacter(text.text, at)))
      kept.append(text.text, begin, at - begin);
  }
  text.text = std::move(kept);
}

void step(const BertNormalizer &normalizer, NormalizedText &text) {
  size_t first = 0;
  if (normalizer.cleanText && !text.text.empty() &&
      isRemovedByClean(nextCharacter(text.text, first)))
    text.atStart = false;
  std::string out;
  normalizer.normalize(text.text, out);
  text.text = std::move(out);
}

void step(const StripSpace &strip, NormalizedText &text) {
  std::string_view rest = text.text;
  if (strip.right)
    for (size_t end = rest.size(); end > 0;) {
      if (!isWhitespace(previousCharacter(rest, end)))
        break;
      rest = rest.substr(0, end);
    }
  size_t begin = 0;
  if (strip.left)
    for (size_t next = 0; next < rest.size(); begin = next)
      if (!isWhitespace(nextCharacter(rest, next)))
        break;
  if (begin > 0)
    text.atStart = false;
  text.text = std::string(rest.substr(begin));
}

void step(const StripAccents &, NormalizedText &text) {
  if (!isBelowMarks(text.text))
    filter(text, [](char32_t c) { return !isCombiningMark(c); });
}

void step(const UnicodeForm &form, NormalizedText &text) {
  if (isAscii(text.text) || (form.compose && !form.compatibility && isBelowMarks(text.text)))
    return;
  std::u32string characters = decodeUtf8(text.text);
  characters = form.compatibility ? decomposeCompatibly(characters) : decompose(characters);
  if (form.compose)
    compose(characters);
  text.text = encodeUtf8(characters);
}

void step(const Lowercase &, NormalizedText &text) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  if (isAscii(text.text)) {
    std::transform(text.text.begin(), text.text.end(), text.text.begin(), lower);
    return;
  }
  std::u32string characters;
  std::string lowered;
  lowered.reserve(text.text.size());
  for (size_t at = 0; at < text.text.size();) {
    if (static_cast<unsigned char>(text.text[at]) < 0x80) {
      lowered += lower(text.text[at++]);
      continue;
    }
    characters.clear();
    appendLower(characters, nextCharacter(text.text, at));
    for (char32_t c : characters)
      appendUtf8(lowered, c);
  }
  text.text = std::move(lowered);
}

bool isRemovedByNmt(char32_t c) {
  return (c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F ||
         c == 0x9F;
}

bool isSpaceByNmt(char32_t c) {
  return c == '\t' || c == '\n' || c == '\f' || c == '\r' || c == 0x1680 ||
         (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF ||
         c == 0xFFFD;
}

void step(const Nmt &, NormalizedText &text) {
  filter(text, [](char32_t c) { return !isRemovedByNmt(c); });
  std::string mapped;
  mapped.reserve(text.text.size());
  for (size_t at = 0; at < text.text.size();) {
    char32_t c = nextCharacter(text.text, at);
    appendUtf8(mapped, isSpaceByNmt(c) ? U' ' : c);
  }
  text.text = std::move(mapped);
}

void step(const Precompiled &precompiled, NormalizedText &text) {
  std::string out;
  precompiled.map->normalize(text.text, out);
  text.text = std::move(out);
}

void step(const PieceNormalizer &normalizer, NormalizedText &text) {
  text.text = normalizer.normalize(text.text);
}

void step(const Replace &replace, NormalizedText &text) {
  std::string out;
  if (replace.apply(text.text, out))
    text.atStart = false;
  text.text = std::move(out);
}

void step(const Prepend &prepend, NormalizedText &text) {
  if (!text.text.empty())
    text.text.insert(0, prepend.text);
}

void step(const BytesToCharacters &, NormalizedText &text) {
  std::string out;
  out.reserve(2 * text.text.size());
  appendByteCharacters(out, text.text);
  text.text = std::move(out);
}

} // namespace

bool Replace::apply(std::string_view from, std::string &out) const {
  out.reserve(out.size() + from.size());
  size_t done = 0, search = 0;
  bool movesStart = false;
  while (search <= from.size()) {
    size_t begin = 0, end = 0;
    if (regex) {
      if (!regex->find(from, search, begin, end))
        break;
    } else {
      begin = text.empty() ? std::string_view::npos : from.find(text, search);
      if (begin == std::string_view::npos)
        break;
      end = begin + text.size();
    }
    if (begin == 0 && end > 0) {
      size_t first = 0;
      nextCharacter(from, first);
      movesStart = content.empty() || first < end;
    }
    search = end;
    if (begin == end) { // nothing: the next search starts a character later
      if (end == from.size())
        search = end + 1;
      else
        nextCharacter(from, search);
    }
    out.append(from, done, begin - done);
    out += content;
    done = end;
  }
  out.append(from, done, from.size() - done);
  return movesStart;
}

void Normalizer::apply(NormalizedText &text) const {
  for (const NormalizerStep &item : steps)
    std::visit([&](const auto &one) { step(one, text); }, item);
}

} // namespace transformer::runtime
