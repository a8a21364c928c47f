//===- Tokenizer.h - from text to ids and back ------------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_TOKENIZER_H
#define TRANSFORMER_RUNTIME_TOKENIZER_H

#include "runtime/text/AddedTokens.h"
#include "runtime/text/Bpe.h"
#include "runtime/text/Decoder.h"
#include "runtime/text/Normalizer.h"
#include "runtime/text/PreTokenizer.h"
#include "runtime/text/Unigram.h"
#include "runtime/text/WordPiece.h"

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

namespace transformer::runtime {

/// Ids of one text, or of a pair, with the segment (token_type_ids) of each.
struct Encoding {
  std::vector<int64_t> ids;
  std::vector<int64_t> types;
};

/// A part of what surrounds the texts: special ids, or text 0 or 1.
struct TemplatePart {
  int text = -1; // -1: special ids
  std::vector<int64_t> ids;
  int64_t type = 0;
};

/// Where a text that is too long is cut: the field truncation of tokenizer.json.
struct Truncation {
  enum Strategy { LongestFirst, OnlyFirst, OnlySecond };
  std::optional<int64_t> maxLength;
  Strategy strategy = LongestFirst;
  bool left = false;
};

/// A tokenizer that gives the ids Hugging Face's `tokenizers` gives for the same files.
/// Immutable: may be used by several threads.
class Tokenizer {
public:
  /// From a tokenizer.json, a vocab.txt, a SentencePiece model (both with tokenizer_config.json and
  /// its like beside them, if there) or a folder that holds one of them. Throws Error.
  static Tokenizer open(const std::string &path);

  /// From JSON text: tokenizer.json's, {"vocab": "...vocab.txt...", "do_lower_case": true}, or
  /// {"files": {"spiece.model": "...base64...", "config.json": "...text..."}}. `name` is what
  /// messages call it.
  static Tokenizer parse(const std::string &name, const std::string &text);

  /// Whether a folder holds a file that open() reads.
  static bool isIn(const std::string &folder);

  /// Ids of `text` (UTF-8; invalid bytes count as U+FFFD) with the special tokens around it, cut
  /// to `maxLength` ids with them, or to the file's own limit, if any. Throws Error when
  /// `maxLength` is less than the number of special tokens.
  Encoding encode(const std::string &text, std::optional<int64_t> maxLength = {}) const;

  /// The same for a pair of texts; the longer one is cut first, if the file does not say otherwise.
  Encoding encodePair(const std::string &first, const std::string &second,
                      std::optional<int64_t> maxLength = {}) const;

  /// The text of ids, in UTF-8. Ids that are no token's are left out; so are special tokens with
  /// `skipSpecial`.
  std::string decode(const std::vector<int64_t> &ids, bool skipSpecial = true) const;

  /// The token of an id as it is decoded; nullptr for those that are left out.
  const std::string *token(int64_t id, bool skipSpecial) const;

  /// The id of a token, added or the model's; -1: there is none.
  int64_t idOf(const std::string &token) const;

  /// The length at which the file itself says that texts are cut, special tokens included.
  std::optional<int64_t> maxLength() const { return truncation.maxLength; }

  /// The id of "[PAD]" or what the file names as such; 0 when there is none.
  int64_t padId() const { return pad; }

private:
  friend class TokenizerReader;

  const Vocabulary &vocabulary() const;
  std::vector<int64_t> encodeText(const std::string &text) const;
  void encodeSection(std::string_view text, bool atStart, std::vector<int64_t> &ids) const;
  void encodePiece(std::string_view text, bool atStart, std::vector<int64_t> &ids) const;
  bool isSpecial(const std::string &token) const;
  [[noreturn]] void failUnknown() const;
  Encoding assemble(const std::vector<TemplatePart> &parts, std::vector<int64_t> texts[2]) const;
  void truncate(const std::vector<TemplatePart> &parts, std::vector<int64_t> texts[2],
                std::optional<int64_t> maxLength) const;

  std::string name;
  Normalizer normalizer;
  PreTokenizer preTokenizer;
  AddedTokens rawTokens;        // looked for in the text as it is
  AddedTokens normalizedTokens; // looked for after normalisation
  std::variant<WordPiece, Bpe, Unigram> model;
  std::optional<Decoder> decoder; // without one, tokens are joined with spaces
  // Of tokens that the file adds to the model's:
  std::unordered_map<int64_t, std::string> added; // what decoders get of an id
  std::unordered_map<std::string, int64_t> addedIds;
  std::unordered_set<std::string> special;
  bool specialStarts[256]{}; // whether one starts with a byte
  std::vector<TemplatePart> single, pair;
  Truncation truncation;
  int64_t pad = 0;
  // Marian's: what is between ">>" and "<<" at a text's start is one token, or this unknown one.
  std::optional<int64_t> languageCodes;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_TOKENIZER_H
