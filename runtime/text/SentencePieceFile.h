//===- SentencePieceFile.h - a SentencePiece model's file -------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_SENTENCEPIECEFILE_H
#define TRANSFORMER_RUNTIME_SENTENCEPIECEFILE_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace transformer::runtime {

/// What a ModelProto says that tokenizers need. Its pieces are UTF-8, not empty, and all different;
/// scores are finite; exactly one is the unknown piece.
struct SentencePieceFile {
  enum Type { Normal = 1, Unknown, Control, UserDefined, Unused, Byte };
  struct Piece {
    std::string text;
    float score = 0;
    Type type = Normal;
  };
  enum ModelType { Unigram = 1, Bpe };

  std::vector<Piece> pieces;
  size_t unknown = 0; // the unknown piece's place
  ModelType modelType = Unigram;
  bool byteFallback = false;
  // Of the normaliser:
  std::string charsmap; // empty: none
  bool addDummyPrefix = true;
  bool removeExtraWhitespaces = true;

  /// Whether plain text can have a piece: not one that controls, is not used or stands for what is
  /// unknown.
  bool isInText(size_t i) const {
    Type type = pieces[i].type;
    return type == Normal || type == UserDefined || type == Byte;
  }
};

/// Reads a ModelProto in protobuf's wire format. Throws Error that begins with `name` and names the
/// field: when it is damaged, of a kind other than unigram or BPE, or a variant that is not
/// supported (white space behind words, white space as it is, a denormaliser).
SentencePieceFile readSentencePieceFile(const std::string &name, std::string_view bytes);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_SENTENCEPIECEFILE_H
