//===- AddedTokens.cpp - tokens that are found before all else ------------===//
#include "runtime/text/AddedTokens.h"

#include "runtime/text/Unicode.h"

#include <algorithm>

namespace transformer::runtime {

void AddedTokens::add(AddedToken token) {
  if (token.content.empty())
    return;
  if (firsts.find(token.content[0]) == std::u32string::npos)
    firsts += token.content[0];
  tokens.push_back(std::move(token));
}

const AddedToken *AddedTokens::longestAt(std::u32string_view text, size_t at) const {
  const AddedToken *best = nullptr;
  for (const AddedToken &token : tokens)
    if (text.substr(at, token.content.size()) == token.content &&
        (!best || token.content.size() > best->content.size()))
      best = &token;
  return best;
}

std::vector<TextPiece> AddedTokens::split(std::u32string_view text) const {
  std::vector<TextPiece> pieces;
  size_t taken = 0; // everything before is in pieces
  for (size_t at = 0; (at = text.find_first_of(firsts, at)) != std::u32string_view::npos;) {
    const AddedToken *token = longestAt(text, at);
    if (!token) {
      ++at;
      continue;
    }
    size_t begin = at, end = at + token->content.size();
    at = end;
    if (token->singleWord && ((begin > 0 && isWordCharacter(text[begin - 1])) ||
                              (end < text.size() && isWordCharacter(text[end]))))
      continue;
    if (token->leftStrip)
      while (begin > taken && isWhitespace(text[begin - 1]))
        --begin;
    if (token->rightStrip)
      while (end < text.size() && isWhitespace(text[end]))
        ++end;
    // White space that a token took may hold no further token, but one may start inside it.
    begin = std::max(begin, taken);
    if (begin > taken)
      pieces.push_back({text.substr(taken, begin - taken), -1});
    pieces.push_back({text.substr(begin, end - begin), token->id});
    taken = end;
    at = std::max(at, end);
  }
  if (taken < text.size())
    pieces.push_back({text.substr(taken), -1});
  return pieces;
}

} // namespace transformer::runtime
