//===- AddedTokens.h - tokens that are found before all else ----*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_ADDEDTOKENS_H
#define TRANSFORMER_RUNTIME_ADDEDTOKENS_H

#include "runtime/text/ByteTrie.h"

#include <string>

namespace transformer::runtime {

/// A token such as [SEP] that is taken out of a text before the model sees it.
struct AddedToken {
  std::string content; // as it is looked for
  int64_t id = 0;
  bool singleWord = false; // only where no word character touches it
  bool leftStrip = false;  // takes white space before it along
  bool rightStrip = false; // and after it
};

/// A piece of a text: an added token's id, or text between them (id -1).
struct TextPiece {
  std::string_view text;
  int64_t id = -1;
};

/// Finds added tokens: from the left, the longest at each place.
class AddedTokens {
public:
  /// Of tokens with the same content the last counts.
  void add(AddedToken token);

  /// Called once, when all are there.
  void finish();

  bool empty() const { return tokens.empty(); }

  /// Cuts `text` (UTF-8) into added tokens and what lies between.
  std::vector<TextPiece> split(std::string_view text) const;

private:
  std::vector<AddedToken> tokens;
  ByteTrie trie;      // values are indexes of tokens
  bool starts[256]{}; // whether one starts with a byte
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_ADDEDTOKENS_H
