//===- Decoder.h - the field decoder of tokenizer.json ----------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_DECODER_H
#define TRANSFORMER_RUNTIME_DECODER_H

#include "runtime/text/Normalizer.h"
#include "runtime/text/PreTokenizer.h"

#include <unordered_set>

namespace transformer::runtime {

/// Characters become the bytes that they stand for, all tokens one text.
struct CharactersToBytes {};

/// Continuing pieces lose their prefix, the others get a space in front.
struct JoinWordPieces {
  std::string prefix = "##";
  bool cleanUp = true; // no space before punctuation and in contractions
};

/// All tokens one text.
struct Fuse {};

/// Takes a character off the ends of each token, so many times at most.
struct StripCharacter {
  char32_t character;
  size_t start, stop;
};

/// <0xE2> and so on become bytes; a run of them that is no UTF-8 U+FFFD for each.
struct JoinBytes {};

/// The suffix of tokens that end words becomes a space.
struct WordSuffix {
  std::string suffix = "</w>";
};

/// Connectionist temporal classification: a token that comes again and again counts once.
struct Ctc {
  std::string pad, wordDelimiter;
  bool cleanUp;
};

/// MarianTokenizer's: SentencePiece's library puts together what stands between special tokens,
/// each of which gets a space behind it; white space at the ends goes.
struct JoinPieces {
  std::unordered_set<std::string> special;
  std::unordered_set<std::string> foreign; // begin with spaceMark and are no pieces of the model
  std::unordered_set<std::string> silent;  // pieces that stand for no text
  bool dropsFirstSpace = true;             // of the first piece
  bool dropsAllSpaces = true;              // and of those behind it while there is no text
};

using DecoderStep = std::variant<CharactersToBytes, JoinWordPieces, Metaspace, Fuse, StripCharacter,
                                 JoinBytes, Replace, WordSuffix, Ctc, JoinPieces>;

/// Steps that are taken one after the other.
struct Decoder {
  std::vector<DecoderStep> steps;

  /// The text of tokens (UTF-8, whatever they are).
  std::string apply(std::vector<std::string> tokens) const;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_DECODER_H
