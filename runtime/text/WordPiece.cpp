//===- WordPiece.cpp - BERT's tokenizer in three steps --------------------===//
#include "runtime/text/WordPiece.h"

#include "runtime/text/Unicode.h"

namespace transformer::runtime {

std::u32string BertNormalizer::normalize(std::u32string text) const {
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

std::vector<std::u32string_view> splitWords(std::u32string_view text) {
  std::vector<std::u32string_view> words;
  size_t start = 0;
  auto endWord = [&](size_t end) {
    if (end > start)
      words.push_back(text.substr(start, end - start));
  };
  for (size_t i = 0; i < text.size(); ++i) {
    bool punctuation = isBertPunctuation(text[i]);
    if (!punctuation && !isWhitespace(text[i]))
      continue;
    endWord(i);
    if (punctuation)
      words.push_back(text.substr(i, 1));
    start = i + 1;
  }
  endWord(text.size());
  return words;
}

bool WordPiece::encode(std::u32string_view word, std::vector<int64_t> &ids) const {
  size_t before = ids.size();
  bool known = word.size() <= maxWordLength;
  std::string piece;
  std::vector<size_t> ends; // of each character in piece
  for (size_t start = 0; known && start < word.size();) {
    piece = start == 0 ? "" : prefix;
    ends.clear();
    for (char32_t c : word.substr(start)) {
      appendUtf8(piece, c);
      ends.push_back(piece.size());
    }
    known = false;
    for (size_t length = ends.size(); length > 0; --length) {
      piece.resize(ends[length - 1]);
      int64_t found = vocab.find(piece);
      if (found < 0)
        continue;
      ids.push_back(found);
      start += length;
      known = true;
      break;
    }
  }
  if (known)
    return true;
  ids.resize(before);
  int64_t unknown = vocab.find(unknownToken);
  if (unknown < 0)
    return false;
  ids.push_back(unknown);
  return true;
}

} // namespace transformer::runtime
