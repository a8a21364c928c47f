//===- WordPiece.cpp - BERT's normaliser and model ------------------------===//
#include "runtime/text/WordPiece.h"

#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

namespace transformer::runtime {

std::u32string BertNormalizer::normalizeCharacters(std::u32string text) const {
  std::u32string next;
  if (cleanText) {
    for (char32_t c : text)
      if (!isRemovedByClean(c))
        next += isWhitespace(c) ? U' ' : c;
    text.swap(next);
  }
  if (handleChineseChars) {
    next.clear();
    for (char32_t c : text) {
      if (isChinese(c))
        next.append({U' ', c, U' '});
      else
        next += c;
    }
    text.swap(next);
  }
  if (stripAccents) {
    next.clear();
    for (char32_t c : decompose(text))
      if (!isNonspacingMark(c))
        next += c;
    text.swap(next);
  }
  if (lowercase) {
    next.clear();
    for (char32_t c : text)
      appendLower(next, c);
    text.swap(next);
  }
  return text;
}

void BertNormalizer::normalize(std::string_view text, std::string &out) const {
  auto isPlain = [](char c) { return c >= ' ' && c <= '~'; };
  out.reserve(out.size() + text.size());
  for (size_t at = 0; at < text.size();) {
    if (isPlain(text[at])) {
      char c = text[at++];
      out += lowercase && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      continue;
    }
    // No step looks beyond a plain character.
    size_t begin = at;
    while (at < text.size() && !isPlain(text[at]))
      ++at;
    for (char32_t c : normalizeCharacters(decodeUtf8(text.substr(begin, at - begin))))
      appendUtf8(out, c);
  }
}

bool WordPiece::encode(std::string_view word, std::vector<int64_t> &ids) const {
  WordCache &cache = WordCache::get();
  if (cache.find(owner, word, ids))
    return true;
  size_t before = ids.size();
  if (!pieces(word, ids)) {
    ids.resize(before);
    int64_t unknown = vocab.find(unknownToken);
    if (unknown < 0)
      return false;
    ids.push_back(unknown);
  }
  cache.store(owner, word, ids.data() + before, ids.size() - before);
  return true;
}

bool WordPiece::pieces(std::string_view word, std::vector<int64_t> &ids) const {
  auto startsCharacter = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  auto length = std::count_if(word.begin(), word.end(), startsCharacter);
  if (static_cast<size_t>(length) > maxWordLength)
    return false;
  std::string rest;
  for (size_t start = 0; start < word.size();) {
    rest = start == 0 ? "" : prefix;
    size_t begin = rest.size();
    rest += word.substr(start, vocab.longest());
    size_t end = rest.size();
    int64_t found = -1;
    while (end > begin && (found = vocab.find(std::string_view(rest).substr(0, end))) < 0)
      previousCharacter(rest, end);
    if (found < 0)
      return false;
    ids.push_back(found);
    start += end - begin;
  }
  return true;
}

} // namespace transformer::runtime
