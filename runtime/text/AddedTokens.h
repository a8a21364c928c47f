//===- AddedTokens.h - tokens that are found before all else ----*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_ADDEDTOKENS_H
#define TRANSFORMER_RUNTIME_ADDEDTOKENS_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace transformer::runtime {

/// A token such as [SEP] that is taken out of a text before the model sees it.
struct AddedToken {
  std::u32string content; // as it is looked for
  int64_t id = 0;
  bool singleWord = false; // only where no word character touches it
  bool leftStrip = false;  // takes white space before it along
  bool rightStrip = false; // and after it
};

/// A piece of a text: an added token's id, or text between them (id -1).
struct TextPiece {
  std::u32string_view text;
  int64_t id = -1;
};

/// Finds added tokens: from the left, the longest at each place.
class AddedTokens {
public:
  void add(AddedToken token);

  /// Cuts `text` into added tokens and what lies between; together they are the whole text.
  std::vector<TextPiece> split(std::u32string_view text) const;

private:
  const AddedToken *longestAt(std::u32string_view text, size_t at) const;

  std::vector<AddedToken> tokens;
  std::u32string firsts; // first characters, each once
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_ADDEDTOKENS_H
