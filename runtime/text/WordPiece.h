//===- WordPiece.h - BERT's normaliser and model ----------------*- C++ -*-===//
//
// Normalise the text, cut it into words (SplitBert), cut each word into the longest
// known pieces. Each step does what Hugging Face's `tokenizers` does.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_WORDPIECE_H
#define TRANSFORMER_RUNTIME_WORDPIECE_H

#include "runtime/text/Vocabulary.h"
#include "runtime/text/WordCache.h"

namespace transformer::runtime {

/// BertNormalizer.
struct BertNormalizer {
  bool cleanText = true;          // drop controls, make all white space ' '
  bool handleChineseChars = true; // spaces around CJK ideographs
  bool stripAccents = true;       // decompose and drop nonspacing marks
  bool lowercase = true;

  /// Appends `text` (UTF-8) as it becomes.
  void normalize(std::string_view text, std::string &out) const;

private:
  std::u32string normalizeCharacters(std::u32string text) const;
};

/// The WordPiece model.
struct WordPiece {
  Vocabulary vocab;
  std::string unknownToken = "[UNK]";
  std::string prefix = "##";  // of a piece that does not start a word
  size_t maxWordLength = 100; // characters; longer words are unknown

  /// Appends the ids of a word (UTF-8): the longest known piece, then the longest of the rest, and
  /// so on; the unknown token alone when some part is not known. False when that is needed and the
  /// vocabulary has none.
  bool encode(std::string_view word, std::vector<int64_t> &ids) const;

private:
  bool pieces(std::string_view word, std::vector<int64_t> &ids) const;

  uint32_t owner = WordCache::newOwner();
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_WORDPIECE_H
