//===- TokenizerFileNames.h - where a tokenizer stands ----------*- C++ -*-===//
//
// The compiler has these names, too: it puts the files into the program.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_TOKENIZERFILENAMES_H
#define TRANSFORMER_RUNTIME_TOKENIZERFILENAMES_H

#include <string_view>

namespace transformer::runtime {

/// SentencePiece's models, under the names that checkpoints give them.
inline constexpr std::string_view pieceFileNames[] = {"spiece.model", "source.spm",
                                                      "sentencepiece.bpe.model", "tokenizer.model"};

/// What a checkpoint says about them in other files; each may be absent.
inline constexpr std::string_view besidePieceFileNames[] = {"vocab.json", "tokenizer_config.json",
                                                            "special_tokens_map.json",
                                                            "added_tokens.json", "config.json"};

/// What a folder is searched for, in this order.
inline constexpr std::string_view tokenizerFileList =
    "tokenizer.json, vocab.txt, spiece.model, source.spm, sentencepiece.bpe.model or "
    "tokenizer.model";

/// Whether a file is SentencePiece's, which holds bytes rather than text.
constexpr bool isPieceFileName(std::string_view name) {
  return name.ends_with(".model") || name.ends_with(".spm");
}

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_TOKENIZERFILENAMES_H
