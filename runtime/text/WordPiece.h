//===- WordPiece.h - BERT's tokenizer in three steps ------------*- C++ -*-===//
//
// Normalise the text, cut it into words, cut each word into the longest known
// pieces. Each step does what Hugging Face's `tokenizers` does.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_WORDPIECE_H
#define TRANSFORMER_RUNTIME_WORDPIECE_H

#include "runtime/text/Vocabulary.h"

namespace transformer::runtime {

/// BertNormalizer.
struct BertNormalizer {
  bool cleanText = true;          // drop controls, make all white space ' '
  bool handleChineseChars = true; // spaces around CJK ideographs
  bool stripAccents = true;       // decompose and drop nonspacing marks
  bool lowercase = true;

  std::u32string normalize(std::u32string text) const;
};

/// BertPreTokenizer: words between white space; each punctuation character is one.
std::vector<std::u32string_view> splitWords(std::u32string_view text);

/// The WordPiece model.
struct WordPiece {
  Vocabulary vocab;
  std::string unknownToken = "[UNK]";
  std::string prefix = "##";  // of a piece that does not start a word
  size_t maxWordLength = 100; // characters; longer words are unknown

  /// Appends the ids of a word: the longest known piece, then the longest of the rest, and so on;
  /// the unknown token alone when some part is not known. False when that is needed and the
  /// vocabulary has none.
  bool encode(std::u32string_view word, std::vector<int64_t> &ids) const;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_WORDPIECE_H
