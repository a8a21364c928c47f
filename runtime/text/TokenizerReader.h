//===- TokenizerReader.h - from files to a Tokenizer ------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_TOKENIZERREADER_H
#define TRANSFORMER_RUNTIME_TOKENIZERREADER_H

#include "runtime/text/SentencePieceFile.h"
#include "runtime/text/TokenizerConfig.h"
#include "runtime/text/TokenizerParts.h"

namespace transformer::runtime {

/// Builds a Tokenizer from its files; every failure names the file and the field.
class TokenizerReader {
public:
  explicit TokenizerReader(std::string name) { result.name = std::move(name); }

  /// From JSON text: tokenizer.json's, a vocab.txt with its options, or {"files": {...}}.
  Tokenizer read(const std::string &text);

  /// From a SentencePiece model and the files beside it.
  Tokenizer read(const TokenizerFiles &files);

private:
  void readVocab(const std::string &text, const TokenizerField &config);
  void readTokenizerJson(const TokenizerField &root);
  void readTruncation(const TokenizerField &field);

  // SentencePieceReader.cpp: each does what the class of that name in `transformers` does.
  void readPieces(const TokenizerFiles &files);
  void readT5(const SentencePieceFile &file, TokenizerConfig &config);
  void readAlbert(const SentencePieceFile &file, TokenizerConfig &config);
  void readXlmRoberta(const SentencePieceFile &file, TokenizerConfig &config);
  void readLlama(const SentencePieceFile &file, TokenizerConfig &config);
  void unigram(const SentencePieceFile &file, size_t first, const std::vector<std::string> &before,
               const std::vector<std::string> &after);
  void wordsOfPieces(Metaspace::Scheme scheme);
  void addCharsmap(const SentencePieceFile &file);
  void addTokens(const SentencePieceFile &file, const TokenizerConfig &config,
                 const std::vector<std::string> &extra);
  int64_t idOfNamed(const TokenizerConfig &config, const char *key) const;

  // MarianReader.cpp
  void readMarian(const TokenizerFiles &files, const SentencePieceFile &file,
                  TokenizerConfig &config);

  /// The model's id of an added token, or the next free one: like Hugging Face's tokenizers, which
  /// do not believe the id that the file states.
  int64_t addedId(const std::string &content);
  void add(const DescribedToken &token, int64_t id);

  /// `text`: what decoders get.
  void remember(const std::string &content, const std::string &text, int64_t id, bool special);
  void surround(PostProcessor parts);

  /// Chooses how the parts work together.
  void finish();

  Tokenizer result;
  size_t tokens = 0;  // of the model
  int64_t nextId = 0; // of added tokens that the model does not know
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_TOKENIZERREADER_H
