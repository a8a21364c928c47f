//===- PieceNormalizer.h - SentencePiece's library's own --------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_PIECENORMALIZER_H
#define TRANSFORMER_RUNTIME_PIECENORMALIZER_H

#include "runtime/text/ByteTrie.h"
#include "runtime/text/Charsmap.h"

#include <memory>
#include <string>
#include <string_view>

namespace transformer::runtime {

/// What SentencePiece's library does to a text before it looks for pieces. Unlike `tokenizers` it
/// replaces the longest sequence at each place, whatever the grapheme clusters are.
struct PieceNormalizer {
  std::shared_ptr<const Charsmap> map;         // or none
  std::shared_ptr<const ByteTrie> userDefined; // pieces that stay as they are
  bool addDummyPrefix = true;
  bool removeExtraWhitespaces = true; // at the ends, and those behind others

  /// `text` (UTF-8) with U+2581 for each space.
  std::string normalize(std::string_view text) const;

private:
  std::string_view take(std::string_view &text) const;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_PIECENORMALIZER_H
