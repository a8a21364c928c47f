//===- Tokenizer.h - from text to ids ---------------------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_TOKENIZER_H
#define TRANSFORMER_RUNTIME_TOKENIZER_H

#include "runtime/text/AddedTokens.h"
#include "runtime/text/WordPiece.h"

#include <optional>
#include <string>
#include <vector>

namespace transformer::runtime {

/// Ids of one text, or of a pair, with the segment (token_type_ids) of each.
struct Encoding {
  std::vector<int64_t> ids;
  std::vector<int64_t> types;
};

/// A WordPiece tokenizer that gives the ids Hugging Face's `tokenizers` gives for the same files.
/// Immutable: may be used by several threads.
class Tokenizer {
public:
  /// From a tokenizer.json, a vocab.txt (with tokenizer_config.json beside it, if there) or a
  /// folder that holds one of them. Throws Error.
  static Tokenizer open(const std::string &path);

  /// From JSON text: tokenizer.json's, or {"vocab": "...vocab.txt...", "do_lower_case": true}.
  /// `name` is what messages call it.
  static Tokenizer parse(const std::string &name, const std::string &text);

  /// Ids of `text` (UTF-8; invalid bytes count as U+FFFD) with the special tokens around it, cut
  /// to `maxLength` ids with them, or to the file's own limit, if any. Throws Error when
  /// `maxLength` is less than the number of special tokens.
  Encoding encode(const std::string &text, std::optional<int64_t> maxLength = {}) const;

  /// The same for a pair of texts; the longer one is cut first.
  Encoding encodePair(const std::string &first, const std::string &second,
                      std::optional<int64_t> maxLength = {}) const;

  /// The length at which the file itself says that texts are cut, special tokens included.
  std::optional<int64_t> maxLength() const { return limit; }

  /// The id of "[PAD]" or what the file names as such; 0 when there is none.
  int64_t padId() const { return pad; }

private:
  friend class TokenizerReader;

  /// A part of what surrounds the texts: special ids, or text 0 or 1.
  struct TemplatePart {
    int text = -1; // -1: special ids
    std::vector<int64_t> ids;
    int64_t type = 0;
  };

  std::vector<int64_t> encodeText(const std::string &text) const;
  Encoding assemble(const std::vector<TemplatePart> &parts, std::vector<int64_t> texts[2]) const;
  void truncate(const std::vector<TemplatePart> &parts, std::vector<int64_t> texts[2],
                std::optional<int64_t> maxLength) const;

  std::string name;
  std::optional<BertNormalizer> normalizer;
  AddedTokens rawTokens;        // looked for in the text as it is
  AddedTokens normalizedTokens; // looked for after normalisation
  WordPiece model;
  std::vector<TemplatePart> single, pair;
  std::optional<int64_t> limit; // the file's own truncation
  bool cutLeft = false;
  int64_t pad = 0;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_TOKENIZER_H
