//===- Normalizer.h - the field normalizer of tokenizer.json ----*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_NORMALIZER_H
#define TRANSFORMER_RUNTIME_NORMALIZER_H

#include "runtime/text/PieceNormalizer.h"
#include "runtime/text/Regex.h"
#include "runtime/text/WordPiece.h"

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace transformer::runtime {

/// White space at the ends goes.
struct StripSpace {
  bool left, right;
};

/// Marks go.
struct StripAccents {};

/// NFC, NFD, NFKC, NFKD.
struct UnicodeForm {
  bool compose, compatibility;
};

struct Lowercase {};

/// What SentencePiece's older models did: controls go, some become spaces.
struct Nmt {};

struct Precompiled {
  std::shared_ptr<const Charsmap> map;
};

/// Every match of a text or a regular expression becomes `content`.
struct Replace {
  std::string text;
  std::optional<Regex> regex; // instead of the text
  std::string content;

  /// Appends `from` with its matches replaced; says whether one starts it that is longer than a
  /// character.
  bool apply(std::string_view from, std::string &out) const;
};

/// In front of a text that is not empty.
struct Prepend {
  std::string text;
};

/// Each byte becomes its character.
struct BytesToCharacters {};

using NormalizerStep =
    std::variant<BertNormalizer, StripSpace, StripAccents, UnicodeForm, Lowercase, Nmt, Precompiled,
                 PieceNormalizer, Replace, Prepend, BytesToCharacters>;

/// A text on its way: UTF-8.
struct NormalizedText {
  std::string text;
  bool atStart; // its first character stands for the first of the text that came in
};

/// Steps that are taken one after the other.
struct Normalizer {
  std::vector<NormalizerStep> steps;

  void apply(NormalizedText &text) const;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_NORMALIZER_H
