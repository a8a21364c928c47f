//===- TokenizerParts.h - reading the parts of a tokenizer.json -*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_TOKENIZERPARTS_H
#define TRANSFORMER_RUNTIME_TOKENIZERPARTS_H

#include "runtime/text/Tokenizer.h"
#include "runtime/text/TokenizerField.h"

namespace transformer::runtime {

// Each throws Error that names the field; a part that is not supported is named, too.

Normalizer readNormalizer(const TokenizerField &field);
PreTokenizer readPreTokenizer(const TokenizerField &field);
Decoder readDecoder(const TokenizerField &field);

/// A Bpe is not finished: how it is depends on what stands before it.
std::variant<WordPiece, Bpe, Unigram> readModel(const TokenizerField &field);

/// What surrounds one text and a pair.
struct PostProcessor {
  std::vector<TemplatePart> single{{0, {}, 0}};
  std::vector<TemplatePart> pair{{0, {}, 0}, {1, {}, 1}};
};
PostProcessor readPostProcessor(const TokenizerField &field);

/// [CLS] text [SEP], and [CLS] first [SEP] second [SEP].
PostProcessor surroundBert(int64_t cls, int64_t sep);

// What several parts have.

struct Pattern {
  std::string text;
  std::optional<Regex> regex;
};
/// {"String": "..."} or {"Regex": "..."}.
Pattern readPattern(const TokenizerField &field);
Replace readReplace(const TokenizerField &field);
Metaspace readMetaspace(const TokenizerField &field);

/// The only character of a string.
char32_t readCharacter(const TokenizerField &field);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_TOKENIZERPARTS_H
