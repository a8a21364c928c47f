//===- AddedTokens.cpp - tokens that are found before all else ------------===//
#include "runtime/text/AddedTokens.h"

#include "runtime/text/CharacterClasses.h"
#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

namespace transformer::runtime {
namespace {

bool touchesWord(std::string_view text, size_t begin, size_t end) {
  return (begin > 0 && isRegexWord(previousCharacter(text, begin))) ||
         (end < text.size() && isRegexWord(nextCharacter(text, end)));
}

} // namespace

void AddedTokens::add(AddedToken token) {
  if (!token.content.empty())
    tokens.push_back(std::move(token));
}

void AddedTokens::finish() {
  std::vector<ByteTrie::Item> items;
  for (size_t i = 0; i < tokens.size(); ++i) {
    items.emplace_back(tokens[i].content, static_cast<int32_t>(i));
    starts[static_cast<unsigned char>(tokens[i].content[0])] = true;
  }
  trie.build(std::move(items));
}

std::vector<TextPiece> AddedTokens::split(std::string_view text) const {
  std::vector<TextPiece> pieces;
  size_t taken = 0;    // everything before is in pieces
  size_t spaceEnd = 0; // of what a token took behind it
  for (size_t at = 0; !tokens.empty() && at < text.size();) {
    if (!starts[static_cast<unsigned char>(text[at])]) {
      ++at;
      continue;
    }
    size_t begin = at, end = at;
    int32_t index = -1;
    trie.eachPrefix(text.substr(at), [&](size_t length, int32_t value) {
      end = begin + length;
      index = value;
    });
    if (index < 0) {
      ++at;
      continue;
    }
    const AddedToken &token = tokens[static_cast<size_t>(index)];
    at = end;
    if (token.singleWord && touchesWord(text, begin, end))
      continue;
    if (token.leftStrip) {
      for (size_t before = begin; before > taken; begin = before)
        if (!isWhitespace(previousCharacter(text, before)))
          break;
      begin = std::max(begin, taken);
    }
    if (token.rightStrip && end < spaceEnd) { // inside white space that one before took
      end = spaceEnd;
    } else if (token.rightStrip) {
      for (size_t after = end; after < text.size(); end = after)
        if (!isWhitespace(nextCharacter(text, after)))
          break;
      spaceEnd = end;
    }
    if (begin > taken)
      pieces.push_back({text.substr(taken, begin - taken), -1});
    // White space that a token took may hold no further token, but one may start inside it.
    pieces.push_back({text.substr(begin, end - begin), token.id});
    taken = end;
  }
  if (taken < text.size())
    pieces.push_back({text.substr(taken), -1});
  return pieces;
}

} // namespace transformer::runtime
